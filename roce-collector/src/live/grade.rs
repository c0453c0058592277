//! What stands first: how bad a flow's trouble is.

use std::time::Duration;

use crate::capture::Timestamp;
use crate::flow::FlowReport;
use crate::sweep::Counts;

/// Trouble is forgotten after so long, so that flows that have it now stand first.
const MEMORY: Duration = Duration::from_secs(10);

/// Trouble of a flow, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Packets lost or sent again, or a sender that gets no answer.
    Lossy,
    /// NAKs or RNR NAKs.
    Refused,
    /// Packets marked otherwise than expected.
    Mismarked,
    /// CE marks or CNPs.
    Congested,
    /// None.
    #[default]
    Calm,
}

/// When a flow had trouble of each kind last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Troubles([Option<Timestamp>; 4]);

const KINDS: [Grade; 4] = [Grade::Lossy, Grade::Refused, Grade::Mismarked, Grade::Congested];

impl Troubles {
    /// Takes up what came until `now`.
    pub(super) fn add(&mut self, growth: &Counts, now: Timestamp) {
        for (last, trouble) in self.0.iter_mut().zip(troubles(growth)) {
            if trouble != 0 {
                *last = Some(now);
            }
        }
    }

    pub(super) fn grade(&self, now: Timestamp) -> Grade {
        let recent = |time: Option<Timestamp>| time.is_some_and(|time| now.since(time) < MEMORY);
        let kind = self.0.iter().position(|time| recent(*time));
        kind.map_or(Grade::Calm, |kind| KINDS[kind])
    }
}

fn troubles(counts: &Counts) -> [u64; 4] {
    let psns = counts.psns.unwrap_or_default();
    [psns.lost + psns.retransmitted, counts.naks, counts.mismarked, counts.ce + counts.cnps]
}

/// Key of a flow among those of equal rank: it does not depend on what was counted.
pub(super) fn order(flow: &FlowReport) -> impl Ord + use<> {
    let direction = flow.direction.as_deref().map(str::len);
    (flow.src, flow.dst, flow.dst_qp, flow.src_qp, direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::PsnCounts;

    #[test]
    fn the_worst_recent_trouble_is_the_grade() {
        let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let mut troubles = Troubles::default();
        assert_eq!(troubles.grade(at(1)), Grade::Calm);
        troubles.add(&Counts { naks: 1, ce: 4, ..Counts::default() }, at(1));
        troubles.add(&Counts { ce: 4, ..Counts::default() }, at(5));
        assert_eq!(troubles.grade(at(5)), Grade::Refused);
        assert_eq!(troubles.grade(at(12)), Grade::Congested);
        assert_eq!(troubles.grade(at(15)), Grade::Calm);
        let psns = Some(PsnCounts { retransmitted: 1, ..PsnCounts::default() });
        troubles.add(&Counts { psns, naks: 1, ..Counts::default() }, at(16));
        assert_eq!(troubles.grade(at(16)), Grade::Lossy);
        assert!(Grade::Refused < Grade::Calm);
    }
}
