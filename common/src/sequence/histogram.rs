//! Distributions in powers of two.

use core::hint::black_box;

/// Buckets of round-trip times.
pub const RTT_BUCKETS: usize = 20;
/// Buckets of go-back distances and of reorder extents.
pub const DISTANCE_BUCKETS: usize = 6;

/// Three distributions of one PSN space: 64 bytes.
///
/// The counters wrap: user space adds up their differences, and no bucket gets 65,536 values between two
/// looks. The last bucket of each counts everything above, too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Microseconds from a packet that asks for an answer to the answer: bucket `i` is for those from
    /// `2^i` on, the first one also for 0.
    pub rtt: [u16; RTT_BUCKETS],
    /// PSNs that a rewind went back: bucket `i` is for those from `4^i` on.
    pub go_back: [u16; DISTANCE_BUCKETS],
    /// PSNs that had overtaken packets which were late by themselves: bucket `i` is for those from `2^i`
    /// on.
    pub reorder: [u16; DISTANCE_BUCKETS],
}

impl Histograms {
    #[inline(always)]
    pub(super) fn count_rtt(&mut self, microseconds: u32) {
        count(&mut self.rtt, (microseconds | 1).ilog2());
    }

    #[inline(always)]
    pub(super) fn count_go_back(&mut self, distance: u32) {
        count(&mut self.go_back, (distance | 1).ilog2() / 2);
    }

    #[inline(always)]
    pub(super) fn count_reorder(&mut self, extent: u32) {
        count(&mut self.reorder, (extent | 1).ilog2());
    }
}

#[inline(always)]
fn count<const N: usize>(buckets: &mut [u16; N], bucket: u32) {
    let last = N - 1;
    let bucket = if bucket as usize > last { last } else { bucket as usize };
    // The verifier does not follow how the compiler knows the range.
    if let Some(count) = buckets.get_mut(black_box(bucket)) {
        *count = count.wrapping_add(1);
    }
}

const _: () = assert!(size_of::<Histograms>() == 64);
