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
