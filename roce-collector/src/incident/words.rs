//! Signals in words, for time lines.

use std::fmt::Write as _;

use super::{Signal, WireKind, WireTrouble};
use crate::explain::ErrorRecord;

/// Characters of a log line in a time line.
const MAX_LINE: usize = 160;

/// What a signal says, in one line.
pub(super) fn words(signal: &Signal) -> String {
    match signal {
        Signal::Log { source, record } => log(source, record),
        Signal::Netlink(event) => event.to_string(),
        Signal::Bpf(failure) => printable(&failure.to_string()),
        Signal::Wire(trouble) => wire(trouble),
    }
}

fn log(source: &str, record: &ErrorRecord) -> String {
    let what = match (record.status, &record.event) {
        (Some(status), _) => status.to_string(),
        (None, Some(event)) => event.name().to_owned(),
        (None, None) => "failed".to_owned(),
    };
    let mut text = format!("{what}, {} in {source}:{}", record.producer.name(), record.line);
    if record.lines > 1 {
        let _ = write!(text, " and {} more", record.lines - 1);
    }
    text.push_str(": ");
    text.push_str(&shortened(record.raw.lines().next().unwrap_or_default()));
    text
}

fn wire(trouble: &WireTrouble) -> String {
    let qp = |qp: Option<u32>| qp.map_or_else(String::new, |qp| format!(" QP {qp:#x}"));
    let requester = format!("{}{}", trouble.requester, qp(trouble.requester_qp));
    let responder = format!("{}{}", trouble.responder, qp(trouble.responder_qp));
    match trouble.kind {
        WireKind::GaveUp { psn, tries, silence } => format!(
            "{requester} sent PSN {psn} to {responder} again {tries} times without an answer, then nothing \
             for {:.1} s",
            silence.as_secs_f64()
        ),
        WireKind::Stalled { psn, tries, age } => format!(
            "{requester} sends PSN {psn} to {responder} again and again: {tries} times in {:.1} s, without \
             an answer",
            age.as_secs_f64()
        ),
        WireKind::FatalNak { code, psn } => {
            format!("{responder} refused PSN {psn} of {requester}: NAK {code}")
        }
        WireKind::NotReady { psn, refusals } => format!(
            "{responder} was not ready for PSN {psn} of {requester}: {refusals} RNR NAKs, then nothing"
        ),
    }
}

/// The start of a line of a log, without what would move the cursor of a terminal.
fn shortened(line: &str) -> String {
    let mut shown = String::new();
    for (n, c) in line.trim().chars().enumerate() {
        if n == MAX_LINE {
            shown.push_str("...");
            break;
        }
        push(&mut shown, c);
    }
    shown
}

/// Logs and names of processes are not trusted: what would move the cursor of a terminal is shown as what it
/// is.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut shown, c));
    shown
}

fn push(shown: &mut String, c: char) {
    if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
}
