//! Facts in figures, as several verdicts show them.

use std::time::Duration;

use super::reading::{self, Loss};
use super::{Case, Evidence, Ladder, PeerQp};

/// What the requester says, and how it was seen trying.
pub(super) fn of_silence(case: &Case) -> Vec<Evidence> {
    let mut evidence = of_status(case);
    if let Some(ladder) = reading::open_ladder(case) {
        evidence.push(of_ladder(&ladder));
    }
    evidence
}

/// Status and vendor code.
pub(super) fn of_status(case: &Case) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if let Some(status) = case.failure.status {
        evidence.push(Evidence::new("status", status));
    }
    // Drivers without vendor codes report 0.
    if let Some(code) = case.failure.vendor.filter(|code| code.value != 0) {
        let meaning = code.meaning.unwrap_or("meaning not known");
        let text = format!("{:#x}: {meaning} ({})", code.value, code.evidence.name());
        evidence.push(Evidence::new("vendor code", text));
    }
    evidence
}

fn of_ladder(ladder: &Ladder) -> Evidence {
    let age = ladder.age.map_or_else(String::new, |age| format!(" in {}", span(age)));
    Evidence::new(
        "sent again without an answer",
        format!(
            "PSN {}, {} times{age}, longest silence {}",
            ladder.psn,
            ladder.tries,
            span(ladder.longest_silence)
        ),
    )
}

/// What each tap saw of the tries, and of answers to them.
pub(super) fn of_taps(case: &Case) -> Vec<Evidence> {
    let seen = case.sight.taps().iter().filter_map(|tap| {
        let requests = tap.requests.as_ref()?;
        let ladder = requests.ladder.filter(|ladder| !ladder.was_answered);
        let tries = ladder.map_or(0, |ladder| ladder.tries);
        let value = if requests.rewinds_after_ack > tries {
            format!("{} tries, each after an acknowledgement", requests.rewinds_after_ack)
        } else {
            let answers = match tap.answers.as_ref().map(|answers| answers.since_ladder) {
                None => "no answers at all".to_owned(),
                Some(Some(0)) => "no answers since the first".to_owned(),
                Some(Some(count)) => format!("{count} answers since the first"),
                Some(None) => "answers before".to_owned(),
            };
            format!("{tries} tries, {answers}")
        };
        let unseen = requests.sequence.map_or(0, |sequence| sequence.unseen);
        let missed = if unseen > 0 {
            format!(", {unseen} packets not seen by this tap")
        } else {
            String::new()
        };
        Some(Evidence::new(format!("at {}", tap.tap), value + &missed))
    });
    seen.collect()
}

/// Lost packets.
pub(super) fn of_loss(case: &Case) -> Vec<Evidence> {
    let loss = Loss::of(case);
    let packets = case.sight.requests().map(|requests| requests.packets).max().unwrap_or(0);
    let mut evidence = Vec::new();
    if loss.lost > 0 {
        evidence.push(Evidence::new("lost", format!("{} of {packets} packets", loss.lost)));
    }
    if loss.naks > 0 {
        evidence.push(Evidence::new("NAK PSN sequence error", loss.naks));
    }
    if loss.rewinds > 0 && loss.lost == 0 {
        evidence.push(Evidence::new("rewinds of the sender", loss.rewinds));
    }
    evidence
}

/// Other connections of the same hosts, and the peer's queue pair.
pub(super) fn of_neighbours(case: &Case) -> Vec<Evidence> {
    let neighbours = &case.neighbours;
    let mut evidence = Vec::new();
    if neighbours.to_peer > 0 {
        let text = format!(
            "{} of {} answered, {} not",
            neighbours.answered, neighbours.to_peer, neighbours.unanswered
        );
        evidence.push(Evidence::new("other queue pairs to the same peer", text));
    }
    let peer = match neighbours.peer_qp {
        PeerQp::NotKnown => return evidence,
        PeerQp::Alive => "alive",
        PeerQp::Failed => "in the error state",
        PeerQp::Gone => "gone",
    };
    evidence.push(Evidence::new("queue pair of the responder", peer));
    evidence
}

/// A time with the unit that suits it.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.001 {
        format!("{:.0} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}
