//! Round-trip times, go-back distances and reorder extents.

use std::collections::BTreeMap;

use roce_common::sequence::{DISTANCE_BUCKETS, Histograms, RTT_BUCKETS};
use serde::{Deserialize, Serialize};

/// Distributions of one or more records, which do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    rtt: [u64; RTT_BUCKETS],
    go_back: [u64; DISTANCE_BUCKETS],
    reorder: [u64; DISTANCE_BUCKETS],
}

/// Round-trip times in microseconds: from the tap to the receiver and back. They come from buckets of
/// powers of two, inside which values are taken to be spread evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttReport {
    /// Half of the samples are below.
    pub p50: f64,
    /// 99 of 100 are below.
    pub p99: f64,
    /// Samples: packets that ask for an answer, one at a time, and none that was sent twice.
    pub samples: u64,
}

impl Spread {
    /// Adds what was counted between two looks; `before` and `now` wrap.
    pub fn advance(&mut self, before: &Histograms, now: &Histograms) {
        advance(&mut self.rtt, &before.rtt, &now.rtt);
        advance(&mut self.go_back, &before.go_back, &now.go_back);
        advance(&mut self.reorder, &before.reorder, &now.reorder);
    }

    /// Adds those of another record.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.rtt, &other.rtt);
        add(&mut self.go_back, &other.go_back);
        add(&mut self.reorder, &other.reorder);
    }

    /// Round-trip times, if there is a sample.
    pub fn rtt(&self) -> Option<RttReport> {
        let samples: u64 = self.rtt.iter().sum();
        (samples > 0).then(|| RttReport {
            p50: self.rtt_quantile(0.5 * samples as f64),
            p99: self.rtt_quantile(0.99 * samples as f64),
            samples,
        })
    }

    /// Round-trip times by bucket: the upper bound in seconds and how many lie in it, the last one without
    /// bound.
    pub fn rtt_buckets(&self) -> [(f64, u64); RTT_BUCKETS] {
        std::array::from_fn(|bucket| {
            let is_last = bucket + 1 == RTT_BUCKETS;
            let end = if is_last { f64::INFINITY } else { f64::from(2 << bucket) / 1e6 };
            (end, self.rtt[bucket])
        })
    }

    /// About the sum of all round-trip times in seconds: each counts as the middle of its bucket.
    pub fn rtt_sum(&self) -> f64 {
        let buckets = (0..).zip(&self.rtt);
        buckets.map(|(bucket, count)| f64::from(3_u32 << bucket) / 2e6 * *count as f64).sum()
    }

    /// Rewinds by the PSNs that they went back: the least of each bucket, and how many.
    pub fn go_back(&self) -> BTreeMap<u32, u64> {
        buckets(&self.go_back, 2)
    }

    /// Late packets by the PSNs that had overtaken them, as [`Self::go_back`].
    pub fn reorder(&self) -> BTreeMap<u32, u64> {
        buckets(&self.reorder, 1)
    }

    /// The value that `rank` samples do not exceed.
    fn rtt_quantile(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        for (bucket, &count) in (0_u32..).zip(&self.rtt) {
            let count = count as f64;
            if count > 0.0 && below + count >= rank {
                let start = if bucket == 0 { 0.0 } else { f64::from(1 << bucket) };
                let end = f64::from(2 << bucket);
                let value = start + (end - start) * (rank - below) / count;
                return (value * 10.0).round() / 10.0;
            }
            below += count;
        }
        0.0
    }
}

fn advance<const N: usize>(totals: &mut [u64; N], before: &[u16; N], now: &[u16; N]) {
    for ((total, before), now) in totals.iter_mut().zip(before).zip(now) {
        *total += u64::from(now.wrapping_sub(*before));
    }
}

fn add<const N: usize>(totals: &mut [u64; N], other: &[u64; N]) {
    for (total, other) in totals.iter_mut().zip(other) {
        *total += other;
    }
}

/// Bucket `i` begins at 2 to the power of `i * bits`.
fn buckets<const N: usize>(counts: &[u64; N], bits: u32) -> BTreeMap<u32, u64> {
    let counts = (0..).zip(counts).filter(|(_, count)| **count > 0);
    counts.map(|(bucket, count)| (1 << (bucket * bits), *count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rtt(buckets: &[(usize, u16)]) -> Spread {
        let mut now = Histograms::default();
        for &(bucket, count) in buckets {
            now.rtt[bucket] = count;
        }
        let mut spread = Spread::default();
        spread.advance(&Histograms::default(), &now);
        spread
    }

    #[test]
    fn quantiles_lie_inside_their_bucket() {
        assert_eq!(Spread::default().rtt(), None);
        let one = of_rtt(&[(3, 1)]).rtt().unwrap();
        assert_eq!((one.p50, one.samples), (12.0, 1));
        let many = of_rtt(&[(3, 98), (10, 2)]).rtt().unwrap();
        assert!(
            (8.0..16.0).contains(&many.p50) && (1024.0..2048.0).contains(&many.p99),
            "{many:?}"
        );
        assert_eq!(of_rtt(&[(0, 2)]).rtt(), Some(RttReport { p50: 1.0, p99: 2.0, samples: 2 }));
    }

    #[test]
    fn counters_that_wrap_add_up() {
        let with = |count| {
            let mut histograms = Histograms::default();
            histograms.go_back[1] = count;
            histograms
        };
        let mut spread = Spread::default();
        for (before, now) in [(0, 60_000), (60_000, 4), (4, 4)] {
            spread.advance(&with(before), &with(now));
        }
        let mut sum = spread;
        sum.add(&spread);
        assert_eq!(spread.go_back(), [(4, 65_540)].into());
        assert_eq!(sum.go_back(), [(4, 131_080)].into());
    }
}
