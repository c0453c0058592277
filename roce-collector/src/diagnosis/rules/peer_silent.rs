//! Requests arrive where the peer is, and the peer does not answer.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Finding, Opinion, Verdict, evidence};

pub(super) fn judge(case: &Case) -> Opinion {
    let located = path::locate(case);
    let Some(found) = located.filter(|found| found.place == Verdict::PeerSilent) else {
        return path::elsewhere(case, located);
    };
    let text = match found.why {
        Why::SaidGoodBye => {
            "The peer closed the connection (CM DREQ), and the requester went on sending to it."
        }
        Why::ArrivesUnanswered => {
            "Requests arrive at the responder's host, and nothing answers them: the queue pair or its \
             process is gone, or in the error state."
        }
        Why::PeerQpLost => {
            "The responder's own kernel lists the queue pair as failed or gone: its process ended, or met \
             an error before."
        }
        Why::ProcessDead => "The process that owns the responder's queue pair is dead.",
        _ => {
            "Other queue pairs of the same two hosts get answers, this one does not: its peer or the \
             peer's process is gone, or its path alone is broken (ECMP chooses by UDP source port)."
        }
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_neighbours(case));
    let mut next_steps = vec![
        format!(
            "{}: its process and its first error come before this one",
            commands::queue_pair(case, End::Responder)
        ),
        format!(
            "{}: dmesg -T | grep -iE 'oom|killed|segfault|mlx5|bnxt|irdma' around that time",
            commands::on(case, End::Responder)
        ),
    ];
    if found.why == Why::OthersAnswered {
        next_steps.push(commands::look(case, End::Responder));
    }
    Opinion::Fits(Finding {
        confidence: found.confidence,
        text: text.to_owned(),
        evidence,
        next_steps,
    })
}
