//! Large packets do not pass, small ones do.

use super::commands::{self, End};
use super::confidence::{CERTAIN, DIRECT, LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, Verdict, evidence, missing, path, reading};
use crate::diagnosis::Payload;

/// Path MTUs of RDMA are powers of two, so what does not pass is at least twice as large as what does.
const MIN_RATIO: u32 = 2;

pub(super) fn judge(case: &Case) -> Opinion {
    if !reading::is_in_trouble(case) || path::is_peers_fault(case) {
        return Opinion::RuledOut;
    }
    let sizes = sizes(case);
    let mtus = [
        ("MTU of the interfaces", case.facts.requester.mtu.zip(case.facts.responder.mtu)),
        (
            "active_mtu of the RDMA ports",
            case.facts.requester.active_mtu.zip(case.facts.responder.active_mtu),
        ),
    ];
    let unequal: Vec<_> = mtus
        .into_iter()
        .filter_map(|(what, both)| both.filter(|(a, b)| a != b).map(|both| (what, both)))
        .collect();
    let does_size_matter = sizes
        .map(|sizes| sizes.passed > 0 && sizes.repeated >= sizes.passed.saturating_mul(MIN_RATIO));
    let confidence = match (does_size_matter, unequal.is_empty()) {
        // Packets of that size pass: it is something else, whatever the ports are set to.
        (Some(false), _) if sizes.is_some_and(|sizes| sizes.passed >= sizes.repeated) => {
            return Opinion::RuledOut;
        }
        (Some(true), false) => DIRECT,
        (Some(true), true) if does_not_arrive(case) => DIRECT,
        (Some(true), true) => STRONG,
        (_, false) => LIKELY,
        (Some(false), true) => return Opinion::CannotTell(missing::SIZES),
        (None, true) => {
            let are_equal = mtus.iter().all(|(_, both)| both.is_some());
            return if are_equal { Opinion::RuledOut } else { Opinion::CannotTell(missing::SIZES) };
        }
    };
    let mut evidence = evidence::of_silence(case);
    if let Some(sizes) = sizes {
        evidence
            .push(Evidence::new("largest payload that passed", format!("{} bytes", sizes.passed)));
        evidence.push(Evidence::new("payload sent again", format!("{} bytes", sizes.repeated)));
    }
    evidence.extend(
        unequal.iter().map(|(what, (a, b))| {
            Evidence::new(*what, format!("requester {a}, responder {b} bytes"))
        }),
    );
    let payload = sizes.map_or(4096, |sizes| sizes.repeated);
    let text = if unequal.is_empty() {
        "Packets with large payloads are never answered, small ones of the same connection are: a port \
         or link on the path has a smaller MTU."
    } else {
        "MTU differs between the two ends: full-size packets of one are too large for the other."
    };
    Opinion::Fits(Finding {
        confidence,
        text: text.to_owned(),
        evidence,
        next_steps: vec![
            commands::ping(case, payload),
            commands::link(case, End::Requester),
            commands::link(case, End::Responder),
            "one MTU on every port of the path: 4200 bytes or more for a path MTU of 4096, 1500 allow 1024"
                .to_owned(),
        ],
    })
}

/// Taps on both sides saw the large ones leave, and not arrive.
fn does_not_arrive(case: &Case) -> bool {
    let found = path::locate(case);
    found.is_some_and(|found| {
        found.place == Verdict::ForwardBlackHole && found.confidence >= CERTAIN
    })
}

/// What passed at any tap, and what is repeated.
fn sizes(case: &Case) -> Option<Payload> {
    let seen = case.sight.requests().filter_map(|requests| requests.payload);
    let seen = seen.filter(|sizes| sizes.repeated > 0);
    seen.reduce(|a, b| Payload {
        passed: a.passed.max(b.passed),
        repeated: a.repeated.max(b.repeated),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Place, Requests, Sight};

    fn sizes(passed: u32, repeated: u32) -> Case {
        let payload = Some(Payload { passed, repeated });
        let requests = Requests { payload, ..asking(3) };
        seen(vec![tap(Place::AtRequester, requests, answered_before())])
    }

    #[test]
    fn large_ones_never_pass() {
        let finding = fits(judge(&sizes(64, 1024)));
        is_sure(&finding, STRONG);
        assert!(finding.evidence.iter().any(|fact| fact.value == "1024 bytes"));
        assert!(
            finding.next_steps[0].contains("ping -M do -c 3 -s 1056 10.0.0.2"),
            "{:?}",
            finding.next_steps
        );
        fits(judge(&sizes(512, 1024)));
        let mut both = sizes(64, 1024);
        let Sight::Seen(taps) = &mut both.sight else { unreachable!() };
        taps.push(tap(Place::AtResponder, asking(0), answered_before()));
        is_sure(&fits(judge(&both)), DIRECT);
    }

    #[test]
    fn the_size_does_not_matter() {
        assert_eq!(judge(&sizes(1024, 1024)), Opinion::RuledOut);
        cannot_tell(&judge(&sizes(600, 1024)));
        cannot_tell(&judge(&sizes(0, 1024)));
    }

    #[test]
    fn mtus_that_differ_are_it_unless_such_packets_pass() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        (case.facts.requester.mtu, case.facts.responder.mtu) = (Some(9000), Some(1500));
        (case.facts.requester.active_mtu, case.facts.responder.active_mtu) =
            (Some(4096), Some(1024));
        let finding = fits(judge(&case));
        assert!(finding.text.starts_with("MTU differs between the two ends"), "{}", finding.text);
        is_sure(&finding, LIKELY);
        case.sight = sizes(1024, 4096).sight;
        is_sure(&fits(judge(&case)), DIRECT);
        case.sight = sizes(4096, 4096).sight;
        assert_eq!(judge(&case), Opinion::RuledOut);
        case.sight = Sight::NotLooked;
        (case.facts.responder.mtu, case.facts.responder.active_mtu) = (Some(9000), Some(4096));
        assert_eq!(judge(&case), Opinion::RuledOut);
    }
}
