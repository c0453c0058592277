//! mlx5_core and mlx5_ib in the kernel's log.
//!
//! Flushed work, exhausted retries and exhausted RNR retries are never dumped: that a dump is missing says
//! nothing.

use super::{Found, Sequel};
use crate::explain::cqe::Role;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{
    after, between, decimal, find_ignoring_case, hexadecimal, hexadecimal_after, word,
};

pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Mlx5Kernel);
    record.device = device(message).map(str::to_owned);
    if let Some(rest) = after(message, "WC error: ") {
        // `WC error: 10, message: remote access error`, before a dump.
        find_ignoring_case(rest, "message:")?;
        record.status = WcStatus::new(decimal(rest)?);
        return Some(Found::whole(record).continuing(Sequel::CqeDump).then(Sequel::CqeDump));
    }
    if message.contains("dump error cqe") {
        record.event = Some(Event::error_cqe());
        return Some(Found::whole(record).continuing(Sequel::CqeDump).then(Sequel::CqeDump));
    }
    if let Some((head, rest)) = message.split_once(" error cqe on cqn ") {
        record.event = Some(Event::error_cqe());
        record.cqn = hexadecimal(rest).map(|cqn| cqn as u32);
        record.role = if head.ends_with("Responder") {
            Some(Role::Responder)
        } else {
            // The kernel says "Requestor".
            head.ends_with("Requestor").then_some(Role::Requester)
        };
        return Some(Found::whole(record).then(Sequel::KernelSyndrome));
    }
    if let Some(vendor) = hexadecimal_after(message, ", vendor syndrome ") {
        let syndrome = u8::try_from(hexadecimal_after(message, "syndrome ")?).ok()?;
        record.syndrome = Some(syndrome);
        record.status = WcStatus::from_mlx5_syndrome(syndrome);
        record.vendor_err = Some(vendor as u32);
        record.event = record.status.is_none().then(Event::error_cqe);
        return Some(Found::whole(record).continuing(Sequel::KernelSyndrome));
    }
    qp_error(message, &record)
        .or_else(|| cq_error(message, &record))
        .or_else(|| failed_command(message, &record))
        .or_else(|| device_event(message, record))
}

/// `rocep2s0/1: QP 137 error: unrecognized status (0x41 0x0 0x0)`: vendor code, type and hardware error.
///
/// The kernel looks the CQE's syndrome up in the names of work completion statuses, so the words are those
/// of another status where the two numberings differ; they are turned back into the syndrome here.
fn qp_error(message: &str, record: &ErrorRecord) -> Option<Found> {
    let (head, rest) = message.split_once(": QP ")?;
    let (qp, rest) = rest.split_once(" error: ")?;
    let (words, codes) = rest.split_once(" (0x")?;
    let (device, port) = head.split_whitespace().last()?.split_once('/')?;
    let syndrome = WcStatus::from_words(words).map(WcStatus::code);
    let record = ErrorRecord {
        device: Some(device.to_owned()),
        port: port.parse().ok(),
        syndrome,
        status: syndrome.and_then(WcStatus::from_mlx5_syndrome),
        vendor_err: hexadecimal(codes).map(|code| code as u32),
        event: Some(Event::qp_error()),
        ..record.clone()
    };
    let qp = decimal(qp)? as u32;
    Some(Found::whole(ErrorRecord {
        local: crate::explain::Local { qp: Some(qp), ..Default::default() },
        ..record
    }))
}

/// `cq_err_event_notifier:517:(pid 0): CQ error on CQN 0x406, syndrome 0x1`.
fn cq_error(message: &str, record: &ErrorRecord) -> Option<Found> {
    let cqn = hexadecimal_after(message, "CQ error on CQN ")? as u32;
    let event = Some(Event::verbs("CQ error", None));
    Some(Found::whole(ErrorRecord { cqn: Some(cqn), event, ..record.clone() }))
}

/// `RTR2RTS_QP(0x504) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x4bb88f)`.
///
/// Only commands on QPs: reading counters makes others fail by the thousand, which means nothing here.
fn failed_command(message: &str, record: &ErrorRecord) -> Option<Found> {
    let (head, rest) = message.split_once(") op_mod(")?;
    let command = head.split_whitespace().last()?;
    if !command.contains("_QP(") || !rest.contains(" failed") {
        return None;
    }
    let syndrome = between(rest, "syndrome (", ")").and_then(hexadecimal).map(|code| code as u32);
    let operation = command.split('(').next().map(str::to_owned);
    let event = Some(Event::command_failed(syndrome));
    Some(Found::whole(ErrorRecord { event, operation, ..record.clone() }))
}

/// `mlx5_ib: Unexpected event type 7 on QP 00012a`, `mlx5_pcie_event:301:(pid 9): Detected insufficient power`,
/// `mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, High Temperature`.
fn device_event(message: &str, mut record: ErrorRecord) -> Option<Found> {
    record.event = Some(if let Some(rest) = after(message, "Unexpected event type ") {
        record.local.qp = Some(hexadecimal_after(rest, " on QP ")? as u32);
        Event::verbs("", None)
    } else if message.contains("mlx5") && message.contains("insufficient power") {
        Event::pcie_power()
    } else if message.contains("mlx5") && message.contains("Port module event") {
        Event::port_module()
    } else {
        return None;
    });
    Some(Found::whole(record))
}

/// `infiniband mlx5_0:`, `mlx5_core 0000:01:00.0:`, `mlx5_2:dump_cqe:`.
fn device(message: &str) -> Option<&str> {
    let named = after(message, "infiniband ").or_else(|| after(message, "mlx5_core ")).map(word);
    let named = named.map(|name| name.trim_end_matches(':'));
    named.or_else(|| {
        let (name, _) = message.split_once(":dump_cqe:")?;
        name.split_whitespace().last()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_syndrome_in_the_wrong_table() {
        // 0x13 is 19, which is "fatal error" among the statuses, and REM_ACCESS among the syndromes.
        let found = parse("mlx5_0/1: QP 137 error: fatal error (0x88 0x0 0x0)").unwrap();
        assert_eq!(found.record.status, Some(WcStatus::REM_ACCESS));
        assert_eq!(found.record.syndrome, Some(0x13));
        let found = parse("rocep2s0/1: QP 137 error: unrecognized status (0x41 0x0 0x0)").unwrap();
        assert_eq!((found.record.status, found.record.vendor_err), (None, Some(0x41)));
        assert_eq!((found.record.local.qp, found.record.port), (Some(137), Some(1)));
    }

    #[test]
    fn only_commands_on_qps() {
        let failed = "mlx5_core 0000:01:00.0: mlx5_cmd_out_err:838:(pid 1): RTR2RTS_QP(0x504) op_mod(0x0) failed, \
                      status bad parameter(0x3), syndrome (0x4bb88f), err(-22)";
        let found = parse(failed).unwrap();
        assert_eq!(found.record.operation.as_deref(), Some("RTR2RTS_QP"));
        assert_eq!(found.record.device.as_deref(), Some("0000:01:00.0"));
        assert_eq!(found.record.event.unwrap().code(), Some(0x4b_b88f));
        assert!(parse(&failed.replace("RTR2RTS_QP", "ACCESS_REG")).is_none());
    }
}
