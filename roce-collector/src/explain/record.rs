//! What is known of one failure.

use std::net::{IpAddr, Ipv6Addr};

use serde::Serialize;

use super::cqe::Role;
use super::event::Event;
use super::status::WcStatus;
use super::vendor::{Family, VendorCode};
use crate::capture::Timestamp;

/// Who printed a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Producer {
    /// NCCL, RCCL and their network plugins: vendor codes are decimal.
    Nccl,
    /// UCX: hexadecimal.
    Ucx,
    /// perftest: hexadecimal.
    Perftest,
    /// SPDK, target and initiator: no vendor codes.
    Spdk,
    /// The kernel's NVMe over RDMA, host and target: no vendor codes.
    Nvme,
    /// The openib BTL of Open MPI: decimal.
    Ompi,
    /// libfabric and its tests: no vendor codes.
    Libfabric,
    /// libmlx5: dumps of completion queue entries.
    Libmlx5,
    /// mlx5_core and mlx5_ib.
    Mlx5Kernel,
    /// Soft-RoCE.
    Rxe,
    /// bnxt_re.
    Bnxt,
    /// Lustre's o2iblnd.
    Lustre,
    /// Any other.
    Other,
}

impl Producer {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nccl => "nccl",
            Self::Ucx => "ucx",
            Self::Perftest => "perftest",
            Self::Spdk => "spdk",
            Self::Nvme => "nvme",
            Self::Ompi => "ompi",
            Self::Libfabric => "libfabric",
            Self::Libmlx5 => "libmlx5",
            Self::Mlx5Kernel => "mlx5_kernel",
            Self::Rxe => "rxe",
            Self::Bnxt => "bnxt",
            Self::Lustre => "lustre",
            Self::Other => "other",
        }
    }
}

/// How much a record matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Context: something that may explain an error later on.
    Info,
    /// The consequence of an error that is not in this record.
    Secondary,
    /// Something failed.
    Error,
}

impl Severity {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Secondary => "secondary",
            Self::Error => "error",
        }
    }
}

/// The side that printed the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Local {
    /// Address, where the GID says it.
    pub ip: Option<IpAddr>,
    /// GID.
    pub gid: Option<Ipv6Addr>,
    /// Index of the GID in the port's table.
    pub gid_index: Option<u32>,
    /// QP number.
    pub qp: Option<u32>,
}

/// The other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Name, where only that is printed.
    pub host: Option<String>,
    /// Address. NCCL prints that of its TCP bootstrap, which need not be that of the RoCE port: the GID is.
    pub ip: Option<IpAddr>,
    /// TCP port of that bootstrap.
    pub port: Option<u16>,
    /// GID.
    pub gid: Option<Ipv6Addr>,
    /// QP number.
    pub qp: Option<u32>,
}

/// One failure, or one event that may explain a failure.
///
/// The fields are what the lines say. What follows from them is in methods: [`severity`](Self::severity),
/// [`cause`](Self::cause), [`meaning`](Self::meaning), [`vendor_code`](Self::vendor_code),
/// [`findings`](Self::findings). JSON has both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRecord {
    /// Number of the first line, from 1.
    pub line: u64,
    /// Lines that speak of this failure.
    pub lines: u64,
    /// Of these, lines of work requests that were flushed because of it.
    pub secondaries: u64,
    /// Time of the first line, if it says one that means the same everywhere.
    pub time: Option<Timestamp>,
    /// Time of the first line as printed: also without year or zone, or since boot.
    pub time_text: Option<String>,
    /// Host, as the line calls it.
    pub host: Option<String>,
    /// Process.
    pub pid: Option<u32>,
    /// Rank or stream of a launcher, as `[1,3]<stderr>` or `12`.
    pub rank: Option<String>,
    /// Who printed it.
    pub producer: Producer,
    /// Versions that print this form, or the name of the form.
    pub producer_format: Option<&'static str>,
    /// Status of the work completion.
    pub status: Option<WcStatus>,
    /// Vendor code.
    pub vendor_err: Option<u32>,
    /// Syndrome of an mlx5 completion queue entry.
    pub syndrome: Option<u8>,
    /// What happened, where it is not a failed work completion.
    pub event: Option<Event>,
    /// RDMA device, network device or block device that the line names.
    pub device: Option<String>,
    /// Port of the RDMA device.
    pub port: Option<u8>,
    /// The side that printed it.
    pub local: Local,
    /// The other side.
    pub peer: Peer,
    /// Which side of the connection the failed work was on.
    pub role: Option<Role>,
    /// Operation, if it comes from the work request itself and can be trusted.
    pub operation: Option<String>,
    /// Kind of request in NCCL's own books, which can be trusted: Send, Recv, Flush, Unused.
    pub request: Option<&'static str>,
    /// Opcode as printed. Garbage in a failed completion: never decide by it.
    pub opcode_raw: Option<i64>,
    /// Length as printed. Garbage in a failed completion.
    pub len_raw: Option<i64>,
    /// Work request.
    pub wr_id: Option<u64>,
    /// Traffic class: DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: Option<u8>,
    /// Queue or connection by the address that the program prints for it.
    pub queue: Option<String>,
    /// Completion queue.
    pub cqn: Option<u32>,
    /// Shared receive queue.
    pub srqn: Option<u32>,
    /// Counter of the work queue entry.
    pub wqe_counter: Option<u16>,
    /// Work requests posted, as perftest counts them.
    pub posted: Option<u64>,
    /// Work requests completed, as perftest counts them.
    pub completed: Option<u64>,
    /// The producer or the reader cut the line.
    pub is_truncated: bool,
    /// The lines, up to a limit.
    pub raw: String,
}

impl ErrorRecord {
    /// A record of which nothing is known but who printed it.
    pub(super) fn new(producer: Producer) -> Self {
        Self {
            line: 0,
            lines: 1,
            secondaries: 0,
            time: None,
            time_text: None,
            host: None,
            pid: None,
            rank: None,
            producer,
            producer_format: None,
            status: None,
            vendor_err: None,
            syndrome: None,
            event: None,
            device: None,
            port: None,
            local: Local::default(),
            peer: Peer::default(),
            role: None,
            operation: None,
            request: None,
            opcode_raw: None,
            len_raw: None,
            wr_id: None,
            traffic_class: None,
            queue: None,
            cqn: None,
            srqn: None,
            wqe_counter: None,
            posted: None,
            completed: None,
            is_truncated: false,
            raw: String::new(),
        }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match (&self.status, &self.event) {
            (Some(WcStatus::WR_FLUSH), _) => Severity::Secondary,
            (None, Some(event)) => event.severity(),
            _ => Severity::Error,
        }
    }

    /// The vendor code with its meaning.
    pub fn vendor_code(&self) -> Option<VendorCode> {
        let family = match self.producer {
            Producer::Libmlx5 | Producer::Mlx5Kernel => Some(Family::Mlx5),
            Producer::Bnxt => Some(Family::Bnxt),
            Producer::Rxe => Some(Family::Other),
            // UCX prints syndromes for mlx5 devices only.
            _ if self.syndrome.is_some() => Some(Family::Mlx5),
            _ => self.device.as_deref().and_then(Family::of_device),
        };
        self.vendor_err.map(|value| VendorCode::find(self.status, value, family))
    }

    /// Address of the peer on the RDMA network: that of its GID, else the one printed.
    pub fn peer_rdma_ip(&self) -> Option<IpAddr> {
        self.peer.gid.map(ip_of_gid).or(self.peer.ip)
    }

    /// Sets addresses that only the GIDs say.
    pub(super) fn fill_addresses(&mut self) {
        let Self { local, peer, .. } = self;
        local.ip = local.ip.or(local.gid.map(ip_of_gid));
        peer.ip = peer.ip.or(peer.gid.map(ip_of_gid));
    }
}

/// RoCEv2: a GID is the IPv6 address, or the IPv4 address mapped into IPv6.
fn ip_of_gid(gid: Ipv6Addr) -> IpAddr {
    gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4)
}
