//! bnxt_re in the kernel's log, most of it only with dynamic debug.

use super::Found;
use crate::explain::cqe::Role;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::text::{after, hexadecimal, hexadecimal_after, word};
use crate::explain::vendor::bnxt_requester_status;

pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Bnxt);
    record.device =
        after(message, "bnxt_en ").map(|rest| word(rest).trim_end_matches(':').to_owned());
    if let Some(rest) = after(message, "CQ Processed Req wr_id[") {
        // `FP: CQ Processed Req wr_id[3] = 0x1 with status 0xa`
        let word = hexadecimal_after(rest, "status ")? as u32;
        record.vendor_err = Some(word);
        record.status = bnxt_requester_status(word);
        record.event = record.status.is_none().then(Event::error_cqe);
        record.wr_id = hexadecimal_after(rest, "= ");
        record.role = Some(Role::Requester);
        return Some(Found::whole(record));
    }
    // `qpid 0x12, req_err=0x2, resp_err=0x0`: reasons without public names in the kernel.
    let (head, rest) = message.split_once(", req_err=")?;
    record.local.qp = hexadecimal_after(head, "qpid ").map(|qp| qp as u32);
    let request = hexadecimal(rest)? as u32;
    let response = hexadecimal_after(rest, "resp_err=").unwrap_or_default() as u32;
    record.role = Some(if request == 0 { Role::Responder } else { Role::Requester });
    record.vendor_err = Some(if request == 0 { response } else { request });
    record.event = Some(Event::qp_error());
    Some(Found::whole(record))
}
