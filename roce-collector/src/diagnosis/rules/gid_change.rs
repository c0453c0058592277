//! The addresses of the port changed.

use super::commands::{self, End};
use super::confidence::{DIRECT, LIKELY, STRONG};
use super::recent::{self, Order};
use super::{Case, Evidence, Finding, Opinion, evidence, missing};
use crate::explain::Cause;

pub(super) fn judge(case: &Case) -> Opinion {
    let told = recent::blamed(case, Cause::GidChange).filter(|order| *order != Order::Unrelated);
    let sides = [
        (End::Requester, "requester", &case.facts.requester),
        (End::Responder, "responder", &case.facts.responder),
    ];
    let lost = sides.iter().find(|(_, _, facts)| facts.has_gid == Some(false));
    let renewed = sides.iter().find(|(_, _, facts)| facts.gid_changes.is_some_and(|n| n > 0));
    // Tables change often on hosts with containers: of no concern to who still has his address.
    let is_kept = sides.iter().all(|(_, _, facts)| facts.has_gid == Some(true));
    if is_kept || told.is_none() && lost.is_none() && renewed.is_none() {
        let is_known = sides
            .iter()
            .all(|(_, _, facts)| facts.has_gid == Some(true) || facts.gid_changes == Some(0));
        return if is_known { Opinion::RuledOut } else { Opinion::CannotTell(missing::GID_TABLES) };
    }
    let mut evidence = evidence::of_silence(case);
    if let Some((_, name, _)) = lost {
        let text = format!("not in the table of the {name} any more");
        evidence.push(Evidence::new("GID of the queue pair", text));
    }
    if let Some((_, name, facts)) = renewed {
        let changes = facts.gid_changes.unwrap_or(0);
        evidence.push(Evidence::new("GID table changed", format!("{changes} times at the {name}")));
    }
    if let Some(order) = told {
        evidence.push(Evidence::new("log: GID table change", order.text()));
    }
    let did_answers_end = case.sight.answers().any(|answers| answers.last_seen.is_some());
    let end = lost.or(renewed).map_or(End::Requester, |(end, ..)| *end);
    Opinion::Fits(Finding {
        confidence: match told {
            _ if lost.is_some() => DIRECT,
            // An event with answers after it is unrelated, so they ended with this one.
            Some(Order::Before(_)) if did_answers_end => STRONG,
            _ => LIKELY,
        },
        text: "The GID table of the port changed under the queue pair: packets with the old address are \
               not accepted any more."
            .to_owned(),
        evidence,
        next_steps: vec![
            commands::gids(case, end),
            format!(
                "{}: journalctl -u NetworkManager -u systemd-networkd around that time",
                commands::on(case, end)
            ),
            "leave the GID index to the library (NCCL_IB_GID_INDEX unset), or check it again: the entry \
             may have moved"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, at, cannot_tell, fits, is_sure, retries_exceeded, tap,
    };
    use crate::diagnosis::{Place, Sight};

    #[test]
    fn a_gid_that_is_gone_is_it() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.facts.requester.has_gid = Some(true);
        cannot_tell(&judge(&case));
        case.facts.responder.has_gid = Some(true);
        assert_eq!(judge(&case), Opinion::RuledOut);
        case.facts.responder.has_gid = Some(false);
        let finding = fits(judge(&case));
        is_sure(&finding, DIRECT);
        assert!(finding.evidence.iter().any(|fact| fact.value.contains("responder")));
    }

    #[test]
    fn who_kept_his_address_is_not_concerned() {
        let mut case = retries_exceeded();
        case.failure.blamed.push((Cause::GidChange, Some(at(90))));
        (case.facts.requester.has_gid, case.facts.responder.has_gid) = (Some(true), Some(true));
        case.facts.requester.gid_changes = Some(7);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn an_event_shortly_before_is_it() {
        let mut case = retries_exceeded();
        case.failure.blamed.push((Cause::GidChange, Some(at(90))));
        is_sure(&fits(judge(&case)), LIKELY);
        let tap = tap(Place::AtRequester, asking(3), answered_before());
        case.sight = Sight::Seen(vec![tap]);
        assert!(matches!(judge(&case), Opinion::CannotTell(_)), "answers came 9 s later");
        case.failure.blamed[0].1 = Some(at(99));
        is_sure(&fits(judge(&case)), STRONG);
        case.failure.blamed[0].1 = None;
        is_sure(&fits(judge(&case)), LIKELY);
        case.failure.time = Some(at(1000));
        case.failure.blamed[0].1 = Some(at(90));
        cannot_tell(&judge(&case));
    }
}
