//! Requests arrive where the peer is, and the peer does not answer.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Opinion, Verdict, evidence};

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
    evidence.extend(evidence::of_taps(case));
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
    found.fits(text, evidence, next_steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::confidence::{CERTAIN, DIRECT, LIKELY, OPEN, STRONG};
    use crate::diagnosis::testing::{
        answered_before, answered_since, asking, cannot_tell, fits, is_sure, repeating,
        retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{PeerQp, Place, Requests};

    fn at_requester() -> Case {
        seen(vec![tap(Place::AtRequester, asking(3), answered_before())])
    }

    #[test]
    fn tries_arrive_and_nothing_answers() {
        let far = tap(Place::AtResponder, asking(3), answered_before());
        is_sure(&fits(judge(&seen(vec![far.clone()]))), DIRECT);
        let near = tap(Place::AtRequester, asking(3), answered_before());
        is_sure(&fits(judge(&seen(vec![near, far]))), CERTAIN);
    }

    #[test]
    fn a_tap_that_never_saw_answers_may_be_deaf_to_them() {
        cannot_tell(&judge(&seen(vec![tap(Place::AtResponder, asking(3), None)])));
    }

    /// The lab's `congestion`: 97 of 100 packets dropped, one of seven tries came through.
    #[test]
    fn a_single_try_is_no_sign() {
        let mut case = seen(vec![tap(Place::AtResponder, asking(1), answered_before())]);
        case.failure.status = Some(crate::explain::WcStatus::RETRY_EXC);
        cannot_tell(&judge(&case));
    }

    #[test]
    fn it_said_good_bye() {
        let requests = Requests { was_disconnected: true, ..asking(3) };
        let finding =
            fits(judge(&seen(vec![tap(Place::AtRequester, requests, answered_before())])));
        is_sure(&finding, DIRECT);
        assert!(finding.text.contains("DREQ"), "{}", finding.text);
    }

    /// The lab's `hole-stream`: the server was stopped while the requester tried to reach it.
    #[test]
    fn a_good_bye_behind_the_hole_is_no_reason() {
        let near = tap(Place::AtRequester, asking(3), answered_before());
        let far = Requests { was_disconnected: true, ..asking(0) };
        let far = tap(Place::AtResponder, far, answered_before());
        assert_eq!(judge(&seen(vec![near, far.clone()])), Opinion::RuledOut);
        let mut case = seen(vec![far]);
        case.failure.status = Some(crate::explain::WcStatus::RETRY_EXC);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn its_kernel_or_its_process_tells() {
        for peer_qp in [PeerQp::Gone, PeerQp::Failed] {
            let mut case = retries_exceeded();
            case.neighbours.peer_qp = peer_qp;
            is_sure(&fits(judge(&case)), STRONG);
        }
        let mut case = retries_exceeded();
        case.facts.responder.is_process_alive = Some(false);
        let finding = fits(judge(&case));
        assert!(
            finding.next_steps[0].contains("rdma resource show qp link <rdma device>/1 lqpn 20"),
            "{:?}",
            finding.next_steps
        );
        case.facts.responder.is_process_alive = Some(true);
        cannot_tell(&judge(&case));
    }

    #[test]
    fn others_get_answers() {
        let mut case = at_requester();
        (case.neighbours.to_peer, case.neighbours.answered) = (1, 1);
        is_sure(&fits(judge(&case)), LIKELY);
        (case.neighbours.to_peer, case.neighbours.answered) = (4, 4);
        is_sure(&fits(judge(&case)), STRONG);
        case.neighbours.unanswered = 3;
        let finding = fits(judge(&case));
        is_sure(&finding, OPEN);
        assert!(finding.text.contains("ECMP"), "{}", finding.text);
    }

    #[test]
    fn it_answers_or_never_heard_of_it() {
        let answers = tap(Place::AtResponder, repeating(3), answered_since(3));
        assert_eq!(judge(&seen(vec![answers])), Opinion::RuledOut);
        let near = tap(Place::AtRequester, asking(3), answered_before());
        let far = tap(Place::AtResponder, asking(0), answered_before());
        let mut case = seen(vec![near, far]);
        case.neighbours.peer_qp = PeerQp::Gone;
        assert_eq!(judge(&case), Opinion::RuledOut, "it gave up, too: its tries are not there");
        cannot_tell(&judge(&at_requester()));
    }
}
