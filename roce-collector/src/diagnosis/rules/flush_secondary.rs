//! The consequence of another error that is not known.

use super::confidence::DIRECT;
use super::evidence::span;
use super::{Case, Evidence, Finding, Opinion, evidence, reading};

pub(super) fn judge(case: &Case) -> Opinion {
    if !reading::is_flush(case) {
        return Opinion::RuledOut;
    }
    let mut evidence = evidence::of_silence(case);
    for (cause, time) in &case.failure.blamed {
        let before = case.failure.time.zip(*time).map_or_else(
            || "before".to_owned(),
            |(failure, event)| format!("{} before", span(failure.since(event))),
        );
        evidence.push(Evidence::new("also told of", format!("{} {before}", cause.id())));
    }
    Opinion::Fits(Finding {
        confidence: DIRECT,
        text: "Work was flushed because the queue pair was in the error state already. That is a \
               consequence: look for the first error here or at the peer."
            .to_owned(),
        evidence,
        next_steps: vec![
            "find the first error with another status in the logs of both hosts: \
             roce-trace explain LOG"
                .to_owned(),
            "without one, the application closed the queue pair itself, or a driver reset it: dmesg -T \
             around that time"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Place;
    use crate::diagnosis::testing::{asking, at, fits, retries_exceeded, seen, tap, told};
    use crate::explain::{Cause, WcStatus};

    #[test]
    fn a_flush_alone_is_a_consequence() {
        let finding = fits(judge(&told(WcStatus::WR_FLUSH)));
        assert!(finding.text.contains("look for the first error here or at the peer"));
        let mut case = told(WcStatus::WR_FLUSH);
        case.failure.status = None;
        case.failure.is_flush_only = true;
        fits(judge(&case));
    }

    #[test]
    fn what_went_before_is_shown() {
        let mut case = told(WcStatus::WR_FLUSH);
        case.failure.blamed.push((Cause::LinkFlap, Some(at(13))));
        let finding = fits(judge(&case));
        assert_eq!(finding.evidence[1].value, "link_flap 90.0 s before");
    }

    #[test]
    fn an_error_of_its_own_is_not_it() {
        assert_eq!(judge(&retries_exceeded()), Opinion::RuledOut);
        let mut case = retries_exceeded();
        case.failure.is_flush_only = true;
        assert_eq!(judge(&case), Opinion::RuledOut, "the status says more");
        let silent = seen(vec![tap(Place::AtRequester, asking(3), None)]);
        assert_eq!(judge(&silent), Opinion::RuledOut);
    }
}
