//! Slot of a key: two multiplications and a seed.

use super::{NarrowKey, WideKey};

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// Hash of a narrow key.
#[inline(always)]
pub const fn hash_narrow(key: &NarrowKey, seed: u64) -> u32 {
    finish(mix(key.addresses() ^ seed), key.tagged_qp as u64)
}

/// Hash of a wide key.
#[inline(always)]
pub const fn hash_wide(key: &WideKey, seed: u64) -> u32 {
    let [s0, s1, s2, s3] = key.source;
    let [d0, d1, d2, d3] = key.destination;
    let mut hash = seed;
    hash = mix(hash ^ (s0 as u64 | (s1 as u64) << 32));
    hash = mix(hash ^ (s2 as u64 | (s3 as u64) << 32));
    hash = mix(hash ^ (d0 as u64 | (d1 as u64) << 32));
    hash = mix(hash ^ (d2 as u64 | (d3 as u64) << 32));
    finish(hash, key.tagged_qp as u64 | (key.source_qp as u64) << 32)
}

/// Spreads a hash over `slots`, which need not be a power of two.
#[inline(always)]
pub const fn slot_index(hash: u32, slots: u32) -> u32 {
    ((hash as u64 * slots as u64) >> 32) as u32
}

#[inline(always)]
const fn mix(value: u64) -> u64 {
    let product = value.wrapping_mul(FIRST);
    product ^ product >> 32
}

#[inline(always)]
const fn finish(hash: u64, last: u64) -> u32 {
    ((hash ^ last).wrapping_mul(SECOND) >> 32) as u32
}
