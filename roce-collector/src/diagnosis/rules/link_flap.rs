//! A link went down.

use super::commands::{self, End};
use super::confidence::{DIRECT, LIKELY, STRONG};
use super::recent::{self, Order};
use super::{Case, Evidence, Finding, Opinion, evidence, missing};
use crate::explain::Cause;

pub(super) fn judge(case: &Case) -> Opinion {
    let told = recent::blamed(case, Cause::LinkFlap);
    let sides = [
        (End::Requester, "the requester's port", &case.facts.requester),
        (End::Responder, "the responder's port", &case.facts.responder),
    ];
    let counted = sides.iter().find_map(|(end, name, facts)| {
        let downs = facts.link_downs.filter(|downs| *downs > 0)?;
        let order = recent::order(case, facts.last_link_down);
        (order != Order::Unrelated).then_some((*end, *name, downs, order))
    });
    let told = told.filter(|order| *order != Order::Unrelated);
    if told.is_none() && counted.is_none() {
        let is_known = !case.failure.blamed.is_empty()
            || sides.iter().all(|(_, _, facts)| facts.link_downs.is_some());
        return if is_known {
            Opinion::RuledOut
        } else {
            Opinion::CannotTell(missing::LINK_EVENTS)
        };
    }
    let mut evidence = evidence::of_silence(case);
    if let Some(order) = told {
        evidence.push(Evidence::new("log: link down", order.text()));
    }
    if let Some((_, name, downs, order)) = counted {
        let text = format!("{name} {downs} times, the last: {}", order.text());
        evidence.push(Evidence::new("link went down", text));
    }
    let is_timed = |order: Option<Order>| matches!(order, Some(Order::Before(_)));
    let times = [is_timed(told), is_timed(counted.map(|(.., order)| order))];
    let end = counted.map_or(End::Requester, |(end, ..)| end);
    Opinion::Fits(Finding {
        confidence: match times {
            [true, true] => DIRECT,
            [false, false] => LIKELY,
            _ => STRONG,
        },
        text: "A link went down before the failure, and no answer came since: the queue pair ran out of \
               retries while it was away."
            .to_owned(),
        evidence,
        next_steps: vec![
            commands::link(case, end),
            format!(
                "{}: dmesg -T | grep -iE 'link (is )?(down|up)|port_module|carrier'",
                commands::on(case, end)
            ),
            commands::ethtool(case, end, "link_down|symbol_err|corrected_bits|crc"),
            "check cable, transceiver and the switch port's own log; a longer timeout \
             (NCCL_IB_TIMEOUT, UCX_RC_TIMEOUT) lets queue pairs live through short interruptions"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_since, asking, at, cannot_tell, fits, is_sure, retries_exceeded, tap,
    };
    use crate::diagnosis::{Place, Sight};

    fn flapped(seconds_before: u64) -> Case {
        let mut case = retries_exceeded();
        case.failure.time = Some(at(1000));
        case.failure.blamed.push((Cause::LinkFlap, Some(at(1000 - seconds_before))));
        case
    }

    #[test]
    fn a_port_error_ninety_seconds_before() {
        let finding = fits(judge(&flapped(90)));
        is_sure(&finding, STRONG);
        assert!(finding.evidence.iter().any(|fact| fact.value == "90.0 s before the failure"));
        assert!(
            finding.next_steps[0].contains("ip -s link show dev eth0"),
            "{:?}",
            finding.next_steps
        );
    }

    #[test]
    fn one_long_before_or_after_is_not_it() {
        assert_eq!(judge(&flapped(121)), Opinion::RuledOut);
        let mut case = flapped(0);
        case.failure.time = Some(at(900));
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn answers_since_then_acquit_it() {
        let mut case = flapped(900);
        case.failure.time = Some(at(103));
        case.failure.blamed[0].1 = Some(at(95));
        let tap = tap(Place::AtRequester, asking(3), answered_since(1));
        case.sight = Sight::Seen(vec![tap]);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn counters_tell_as_well() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.facts.responder.link_downs = Some(2);
        let finding = fits(judge(&case));
        is_sure(&finding, LIKELY);
        assert!(finding.next_steps[0].contains("on the responder 10.0.0.2"));
        case.facts.responder.last_link_down = Some(at(60));
        is_sure(&fits(judge(&case)), STRONG);
        case.facts.responder.link_downs = Some(0);
        cannot_tell(&judge(&case));
        case.facts.requester.link_downs = Some(0);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }
}
