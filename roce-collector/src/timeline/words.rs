//! Events in words.

use std::fmt;

use super::{Event, FillOutcome, RewindCause};

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::First { opcode, psn } => write!(f, "first packet: {opcode}, PSN {psn}"),
            Self::Gap { psn, last, missing } => {
                write!(f, "gap: {} missing", psns(psn, last))?;
                let span = last.wrapping_sub(psn) & 0x00ff_ffff;
                if missing == span + 1 { Ok(()) } else { write!(f, ", {missing} for certain") }
            }
            Self::Filled { psn, last, after_us, outcome, .. } => {
                write!(f, "{} came", psns(psn, last))?;
                if let Some(after) = after_us {
                    write!(f, " {} after the gap", duration(after))?;
                }
                f.write_str(match outcome {
                    FillOutcome::Open => "",
                    FillOutcome::Late => ", late by itself: reordered, not lost",
                    FillOutcome::SentAgain => ", sent again: it had been lost",
                })
            }
            Self::Rewind { psn, last, packets, filled, was_acknowledged, cause } => {
                write!(f, "rewind to PSN {psn}: ")?;
                cause_in_words(f, cause)?;
                if was_acknowledged {
                    f.write_str(", although it had been acknowledged")?;
                }
                write!(f, "; {} again", counted(packets - filled.min(packets), "packet"))?;
                if filled > 0 {
                    write!(f, " and {filled} that had been missing")?;
                }
                if last == psn { Ok(()) } else { write!(f, ", up to PSN {last}") }
            }
            Self::Repeated { psn, last, packets } => {
                write!(f, "{} again ({})", psns(psn, last), counted(packets, "packet"))
            }
            Self::Nak { code, psn } => nak(f, code, psn),
            Self::RnrNak { psn, timer_us } => {
                let wait = duration(timer_us.into());
                write!(f, "RNR NAK: not ready for PSN {psn}, try again after {wait}")
            }
            Self::Unseen { psn, packets } => {
                let packets = counted(packets, "packet");
                write!(f, "ACK of PSN {psn} passes {packets} that this tap did not see: no loss")
            }
            Self::TapLost { packets } => {
                let packets = counted(packets, "missing packet");
                write!(
                    f,
                    "the capture lost packets here: {packets} may be among them, no loss claimed"
                )
            }
            Self::LostUnseen { psn, packets } => {
                let packets = counted(packets, "packet");
                write!(
                    f,
                    "ACK of PSN {psn} passes {packets} that a NAK had asked for and this tap did not see \
                     come again"
                )
            }
            Self::Late { packets: 1 } => {
                f.write_str("a packet that came late was late by itself: reordered, not lost")
            }
            Self::Late { packets } => {
                write!(
                    f,
                    "{packets} packets that came late were late by themselves: reordered, not lost"
                )
            }
            Self::CeMarks { packets, during_us } => {
                write!(f, "CE marks: {}", counted(packets, "packet"))?;
                during(f, packets, during_us)
            }
            Self::Cnp { packets, during_us } => {
                write!(f, "CNP: slow down ({})", counted(packets, "packet"))?;
                during(f, packets, during_us)
            }
            Self::Damaged { psn } => {
                write!(f, "a damaged frame (wrong ICRC), PSN {psn} in it: not looked at")
            }
            Self::Silence { silent_us } => {
                write!(f, "silence of {} in both directions ends", duration(silent_us))
            }
            Self::Last { opcode, psn } => write!(f, "last packet: {opcode}, PSN {psn}"),
            Self::FirstAnswer { opcode, psn } => write!(f, "first answer: {opcode}, PSN {psn}"),
            Self::LastAnswer { opcode, psn } => write!(f, "last answer: {opcode}, PSN {psn}"),
            Self::Unanswered { psn, last } => {
                write!(f, "no answer to {} was seen any more", psns(psn, last))
            }
            Self::Nothing { silent_us } => {
                write!(f, "nothing after, for the {} left", duration(silent_us))
            }
            Self::Omitted { entries } => {
                write!(f, "... {entries} more of this direction, not kept")
            }
            _ => connection(f, *self),
        }
    }
}

fn connection(f: &mut fmt::Formatter<'_>, event: Event) -> fmt::Result {
    match event {
        Event::ConnectRequest { qp, psn } => {
            write!(f, "CM REQ: QP {qp:#x} wants to connect, will start at PSN {psn}")
        }
        Event::ConnectReply { qp, psn } => {
            write!(f, "CM REP: QP {qp:#x} accepts, will start at PSN {psn}")
        }
        Event::ReadyToUse => f.write_str("CM RTU: the connection is up"),
        Event::Reject { reason } => {
            write!(f, "CM REJ: refused, reason {reason} ({})", reject_reason(reason))
        }
        Event::DisconnectRequest { qp } => write!(f, "CM DREQ: disconnect from QP {qp:#x}"),
        _ => f.write_str("CM DREP: disconnected"),
    }
}

fn cause_in_words(f: &mut fmt::Formatter<'_>, cause: RewindCause) -> fmt::Result {
    let after = |f: &mut fmt::Formatter<'_>, what: &str, after: Option<u64>| match after {
        Some(micros) => write!(f, "{} after the {what}", duration(micros)),
        None => write!(f, "after the {what}"),
    };
    match cause {
        RewindCause::Nak { after_us } => after(f, "NAK", after_us),
        RewindCause::Rnr { after_us } => after(f, "RNR NAK", after_us),
        RewindCause::Timeout { silent_us } => {
            write!(f, "timeout, {} of silence", duration(silent_us))
        }
        RewindCause::ImpliedNak => f.write_str("a READ response was lost (implied NAK)"),
        RewindCause::Unexplained => f.write_str("no NAK and no silence seen"),
    }
}

fn nak(f: &mut fmt::Formatter<'_>, code: &str, psn: u32) -> fmt::Result {
    match code {
        "psn_sequence_error" => write!(f, "NAK PSN sequence error: wants PSN {psn}"),
        "invalid_request" => write!(f, "NAK invalid request at PSN {psn}: the application's fault"),
        "remote_access_error" => {
            write!(
                f,
                "NAK remote access error at PSN {psn}: key, address or rights, not the network"
            )
        }
        "remote_operational_error" => {
            write!(f, "NAK remote operational error at PSN {psn}: the responder failed")
        }
        _ => write!(f, "NAK {} at PSN {psn}", code.replace('_', " ")),
    }
}

fn during(f: &mut fmt::Formatter<'_>, packets: u32, during_us: Option<u64>) -> fmt::Result {
    match during_us {
        Some(micros) if packets > 1 => write!(f, " in {}", duration(micros)),
        _ => Ok(()),
    }
}

/// `PSN 5` or `PSN 5 to 8 (4)`.
fn psns(first: u32, last: u32) -> String {
    if first == last {
        format!("PSN {first}")
    } else {
        let count = (last.wrapping_sub(first) & 0x00ff_ffff) + 1;
        format!("PSN {first} to {last} ({count})")
    }
}

fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Microseconds in a unit that suits them, with three digits: `12 us`, `67.1 ms`, `1.20 s`.
pub fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..1_000_000 => format!("{} ms", three_digits(micros as f64 / 1e3)),
        1_000_000..600_000_000 => format!("{} s", three_digits(micros as f64 / 1e6)),
        _ => format!("{} min", micros / 60_000_000),
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Reasons of a CM REJ that are met in practice (IBTA 12.6.7.2; Linux `ib_cm.h`).
pub(crate) const fn reject_reason(reason: u16) -> &'static str {
    match reason {
        1 => "no QP available",
        3 => "no resources",
        4 => "timeout",
        6 => "invalid communication ID",
        8 => "invalid service ID: nobody listens",
        10 => "stale connection",
        12 => "invalid GID",
        26 => "invalid path MTU",
        27 => "insufficient responder resources",
        28 => "by the consumer",
        29 => "invalid RNR retry count",
        _ => "see IBTA 12.6.7.2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_three_digits() {
        let shown = [0, 999, 1_000, 67_108, 522_000, 999_499, 1_204_000, 61_000_000, 900_000_000];
        let expected = [
            "0 us", "999 us", "1.00 ms", "67.1 ms", "522 ms", "999 ms", "1.20 s", "61.0 s",
            "15 min",
        ];
        assert_eq!(shown.map(duration), expected);
    }

    #[test]
    fn ranges_over_the_wrap() {
        let gap = Event::Gap { psn: 0xff_fffe, last: 1, missing: 4 };
        assert_eq!(gap.to_string(), "gap: PSN 16777214 to 1 (4) missing");
        let gap = Event::Gap { psn: 10, last: 19, missing: 2 };
        assert_eq!(gap.to_string(), "gap: PSN 10 to 19 (10) missing, 2 for certain");
    }
}
