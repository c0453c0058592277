//! Distributions in powers of two.

/// Buckets of round-trip times.
pub const RTT_BUCKETS: usize = 20;
/// Buckets of go-back distances and of reorder extents.
pub const DISTANCE_BUCKETS: usize = 10;

/// Three distributions of one PSN space: 80 bytes.
///
/// Bucket `i` counts values from `2^i` up to below `2^(i + 1)`, the first one also 0, the last one
/// everything above. When a counter is full, all of its distribution are halved: the shape stays.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Microseconds from a packet that asks for an answer to the answer.
    pub rtt: [u16; RTT_BUCKETS],
    /// PSNs that a rewind went back.
    pub go_back: [u16; DISTANCE_BUCKETS],
    /// PSNs that had overtaken a packet which was late by itself.
    pub reorder: [u16; DISTANCE_BUCKETS],
}

/// Counts `value` in buckets of powers of two.
#[inline(always)]
pub(super) fn count<const N: usize>(buckets: &mut [u16; N], value: u32) {
    let bucket = (value | 1).ilog2() as usize;
    let bucket = if bucket < N { bucket } else { N - 1 };
    let is_full = match buckets.get(bucket) {
        Some(count) => *count == u16::MAX,
        None => false,
    };
    if is_full {
        for count in &mut *buckets {
            *count >>= 1;
        }
    }
    if let Some(count) = buckets.get_mut(bucket) {
        *count += 1;
    }
}

const _: () = assert!(size_of::<Histograms>() == 80);
