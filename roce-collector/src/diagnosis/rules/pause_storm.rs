//! The port was paused for most of the time.

use super::commands::{self, End};
use super::confidence::{DIRECT, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};

/// Share of the time under pause from which on nothing else matters. PFC that does its work pauses for
/// milliseconds; half of the time is a storm.
const STORM: f64 = 0.5;

pub(super) fn judge(case: &Case) -> Opinion {
    if !reading::is_in_trouble(case) {
        return Opinion::RuledOut;
    }
    let (requester, responder) = (&case.facts.requester, &case.facts.responder);
    let ratios = [
        (End::Requester, "requester's port may not send", requester.rx_pause_ratio),
        (End::Responder, "responder's port may not send", responder.rx_pause_ratio),
        (End::Responder, "responder's port lets nobody send", responder.tx_pause_ratio),
        (End::Requester, "requester's port lets nobody send", requester.tx_pause_ratio),
    ];
    let storms: Vec<_> =
        ratios.iter().filter(|(.., ratio)| ratio.is_some_and(|ratio| ratio >= STORM)).collect();
    let Some((end, ..)) = storms.first() else {
        let is_known = ratios.iter().all(|(.., ratio)| ratio.is_some());
        return if is_known {
            Opinion::RuledOut
        } else {
            Opinion::CannotTell(missing::PAUSE_COUNTERS)
        };
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(storms.iter().map(|(_, what, ratio)| {
        Evidence::new(*what, format!("{:.0} % of the time", ratio.unwrap_or(0.0) * 100.0))
    }));
    let is_silent = reading::is_silent(case);
    Opinion::Fits(Finding {
        confidence: if is_silent { DIRECT } else { STRONG },
        text: "Priority or global pause held a port for most of the time: packets wait until the queue \
               pair gives up. Look for the port that pauses first."
            .to_owned(),
        evidence,
        next_steps: vec![
            commands::ethtool(case, *end, "pause|storm"),
            commands::qos(case, *end),
            "on the switch: PFC counters of each port of the path, PFC watchdog; isolate the NIC that \
             sends pauses without end"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{cannot_tell, fits, is_sure, retries_exceeded};

    #[test]
    fn half_of_the_time_is_a_storm() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.facts.requester.rx_pause_ratio = Some(0.93);
        let finding = fits(judge(&case));
        is_sure(&finding, DIRECT);
        assert!(finding.evidence.iter().any(|fact| fact.value == "93 % of the time"));
        assert!(finding.next_steps[0].contains("ethtool -S eth0"));
    }

    #[test]
    fn less_is_flow_control_at_work() {
        let mut case = retries_exceeded();
        for facts in [&mut case.facts.requester, &mut case.facts.responder] {
            (facts.rx_pause_ratio, facts.tx_pause_ratio) = (Some(0.49), Some(0.0));
        }
        assert_eq!(judge(&case), Opinion::RuledOut);
        case.facts.responder.tx_pause_ratio = Some(0.5);
        fits(judge(&case));
        case.failure.status = None;
        assert_eq!(judge(&case), Opinion::RuledOut, "nothing is wrong");
    }
}
