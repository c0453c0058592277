//! Vendor codes of failed work completions.
//!
//! The status says what failed; a vendor code only refines it, so a code is looked up together with the
//! status and means nothing with another one. NVIDIA publishes no table: what is known of mlx5 codes is
//! what people saw, unless a driver's source names the code. Codes that nobody explained stay unknown.

use serde::Serialize;

use super::status::WcStatus;

/// How well the meaning of a code is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Named in the source of the vendor's driver.
    Official,
    /// Seen by people who knew what had happened.
    Observed,
    /// Not known.
    Unknown,
}

impl Evidence {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Observed => "observed",
            Self::Unknown => "unknown",
        }
    }
}

/// A vendor code and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorCode {
    /// The code.
    pub value: u32,
    /// What it means, if that is known.
    pub meaning: Option<&'static str>,
    /// How well that is known.
    pub evidence: Evidence,
}

/// Makers of devices, by the codes they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Mlx5,
    Bnxt,
    /// Neither, and no table of theirs is known.
    Other,
}

impl Family {
    /// By the name that the driver gives its devices. Names made from PCI addresses (`rocep1s0`) tell nothing.
    pub(super) fn of_device(name: &str) -> Option<Self> {
        const OTHERS: [&str; 9] =
            ["rxe", "siw", "irdma", "efa", "erdma", "hns", "ionic", "mana", "qedr"];
        if name.starts_with("mlx5") {
            Some(Self::Mlx5)
        } else if name.starts_with("bnxt_re") {
            Some(Self::Bnxt)
        } else {
            OTHERS.iter().any(|other| name.starts_with(other)).then_some(Self::Other)
        }
    }
}

type Row = (WcStatus, u32, &'static str, Evidence);

/// Sources: rdma-core and mlx5_ib for the official ones; for the others public reports and the measurements
/// of unionxic/rdma-fault-characterization (ConnectX-6).
const MLX5: [Row; 18] = [
    (
        WcStatus::LOC_PROT,
        0x33,
        "memory region without the right to write locally when READ data came back (tentative)",
        Evidence::Observed,
    ),
    (
        WcStatus::LOC_PROT,
        0x51,
        "local protection: key or memory region not valid for the buffer; seen with GPU memory and PCIe ACS",
        Evidence::Observed,
    ),
    (WcStatus::LOC_PROT, 0x52, "local key not valid", Evidence::Observed),
    (WcStatus::LOC_PROT, 0x53, "buffer reaches beyond its memory region", Evidence::Observed),
    (WcStatus::WR_FLUSH, 0x05, "flushed in software by the driver", Evidence::Official),
    (
        WcStatus::WR_FLUSH,
        0xf5,
        "flushed after software moved the QP to the error state",
        Evidence::Observed,
    ),
    (WcStatus::WR_FLUSH, 0xf9, "flushed: the QP was in the error state", Evidence::Observed),
    (WcStatus::MW_BIND, 0x78, "binding the memory window failed", Evidence::Observed),
    (
        WcStatus::REM_INV_REQ,
        0x8a,
        "the responder refused the request: length, operation, or no room to receive",
        Evidence::Observed,
    ),
    (
        WcStatus::REM_ACCESS,
        0x88,
        "the responder refused access: key, address range or permission",
        Evidence::Observed,
    ),
    (WcStatus::REM_OP, 0x89, "the responder could not complete the operation", Evidence::Observed),
    (
        WcStatus::RETRY_EXC,
        0x81,
        "transport retries exhausted without an acknowledgement: path loss, QP of the peer in error, or \
         peer gone",
        Evidence::Observed,
    ),
    (
        WcStatus::RETRY_EXC,
        0x83,
        "transport retries exhausted; variant seen on ConnectX-7",
        Evidence::Observed,
    ),
    (
        WcStatus::RNR_RETRY_EXC,
        0x87,
        "receiver not ready, RNR retries exhausted",
        Evidence::Observed,
    ),
    (WcStatus::LOC_PROT, 0x93, "page fault on memory paged on demand (ODP)", Evidence::Official),
    (WcStatus::LOC_ACCESS, 0x93, "page fault on memory paged on demand (ODP)", Evidence::Official),
    (WcStatus::REM_ABORT, 0x93, "page fault on memory paged on demand (ODP)", Evidence::Official),
    (WcStatus::BAD_RESP, 0x99, "PSN error", Evidence::Observed),
];

/// Status words of completion queue entries, as libbnxt_re hands them on: requester, responder, and both
/// of the third generation of queue entries.
const BNXT: [Row; 29] = [
    (WcStatus::BAD_RESP, 0x1, "bad response", Evidence::Official),
    (WcStatus::LOC_LEN, 0x2, "local length error", Evidence::Official),
    (WcStatus::LOC_QP_OP, 0x3, "local QP operation error", Evidence::Official),
    (WcStatus::LOC_PROT, 0x4, "local protection error", Evidence::Official),
    (WcStatus::MW_BIND, 0x5, "memory management operation error", Evidence::Official),
    (WcStatus::REM_INV_REQ, 0x6, "remote invalid request", Evidence::Official),
    (WcStatus::REM_ACCESS, 0x7, "remote access error", Evidence::Official),
    (WcStatus::REM_OP, 0x8, "remote operation error", Evidence::Official),
    (WcStatus::RNR_RETRY_EXC, 0x9, "RNR NAK retries exhausted", Evidence::Official),
    (WcStatus::RETRY_EXC, 0xa, "transport retries exhausted", Evidence::Official),
    (WcStatus::WR_FLUSH, 0xb, "work request flushed", Evidence::Official),
    (WcStatus::LOC_ACCESS, 0x1, "local access error (responder)", Evidence::Official),
    (WcStatus::LOC_PROT, 0x3, "local protection error (responder)", Evidence::Official),
    (WcStatus::LOC_QP_OP, 0x4, "local QP operation error", Evidence::Official),
    (WcStatus::WR_FLUSH, 0x7, "work request flushed (responder)", Evidence::Official),
    (WcStatus::WR_FLUSH, 0x8, "flushed by the device (responder)", Evidence::Official),
    (WcStatus::LOC_PROT, 0x5, "local protection error", Evidence::Official),
    (WcStatus::MW_BIND, 0x7, "memory management operation error", Evidence::Official),
    (WcStatus::REM_INV_REQ, 0x8, "remote invalid request", Evidence::Official),
    (WcStatus::REM_ACCESS, 0x9, "remote access error", Evidence::Official),
    (WcStatus::REM_OP, 0xa, "remote operation error", Evidence::Official),
    (WcStatus::RNR_RETRY_EXC, 0xb, "RNR NAK retries exhausted", Evidence::Official),
    (WcStatus::RETRY_EXC, 0xc, "transport retries exhausted", Evidence::Official),
    (WcStatus::WR_FLUSH, 0xd, "work request flushed", Evidence::Official),
    (WcStatus::GENERAL, 0x5, "memory management operation error", Evidence::Official),
    (WcStatus::GENERAL, 0xc, "QP reset", Evidence::Official),
    (WcStatus::GENERAL, 0x7, "memory management operation error", Evidence::Official),
    (WcStatus::GENERAL, 0xf, "queue overflow", Evidence::Official),
    (WcStatus::REM_INV_REQ, 0x5, "remote invalid request (responder)", Evidence::Official),
];

impl VendorCode {
    /// What is known of `value` together with `status`. A device of an unknown make may be of any that
    /// uses the code with that status.
    pub(super) fn find(status: Option<WcStatus>, value: u32, family: Option<Family>) -> Self {
        let unknown = Self { value, meaning: None, evidence: Evidence::Unknown };
        let Some(status) = status else { return unknown };
        if value == 0 {
            let meaning = Some("no detail: the driver gives none, as soft-RoCE and siw do");
            return Self { value, meaning, evidence: Evidence::Observed };
        }
        let tables: &[&[Row]] = match family {
            Some(Family::Mlx5) => &[&MLX5],
            Some(Family::Bnxt) => &[&BNXT],
            Some(Family::Other) => &[],
            None => &[&MLX5, &BNXT],
        };
        let rows = tables.iter().copied().flatten();
        let row = rows.into_iter().find(|row| row.0 == status && row.1 == value);
        row.map_or(unknown, |(_, _, meaning, evidence)| Self {
            value,
            meaning: Some(meaning),
            evidence: *evidence,
        })
    }
}

/// The status that bnxt_re makes of the status word of a requester's completion queue entry.
pub(super) fn bnxt_requester_status(word: u32) -> Option<WcStatus> {
    const REQUESTER: &[Row] = BNXT.split_at(11).0;
    REQUESTER.iter().find(|row| row.1 == word).map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(status: WcStatus, value: u32, family: Option<Family>) -> Evidence {
        VendorCode::find(Some(status), value, family).evidence
    }

    #[test]
    fn the_status_comes_first() {
        assert_eq!(evidence(WcStatus::RETRY_EXC, 0x81, None), Evidence::Observed);
        assert_eq!(evidence(WcStatus::LOC_PROT, 0x81, None), Evidence::Unknown);
        assert_eq!(evidence(WcStatus::LOC_PROT, 0x51, None), Evidence::Observed);
        assert_eq!(VendorCode::find(None, 0x81, None).evidence, Evidence::Unknown);
    }

    #[test]
    fn tables_belong_to_their_makers() {
        assert_eq!(Family::of_device("mlx5_bond_0"), Some(Family::Mlx5));
        assert_eq!(Family::of_device("rocep2s0"), None);
        assert_eq!(
            evidence(WcStatus::RETRY_EXC, 0x81, Family::of_device("irdma0")),
            Evidence::Unknown
        );
        assert_eq!(
            evidence(WcStatus::RETRY_EXC, 0x0a, Family::of_device("bnxt_re0")),
            Evidence::Official
        );
        assert_eq!(evidence(WcStatus::RETRY_EXC, 0x0a, Some(Family::Mlx5)), Evidence::Unknown);
        assert_eq!(evidence(WcStatus::RETRY_EXC, 0x82, Some(Family::Mlx5)), Evidence::Unknown);
    }

    #[test]
    fn broadcom_words() {
        assert_eq!(bnxt_requester_status(0xa), Some(WcStatus::RETRY_EXC));
        assert_eq!(bnxt_requester_status(0xb), Some(WcStatus::WR_FLUSH));
        assert_eq!(bnxt_requester_status(0x7f), None);
    }
}
