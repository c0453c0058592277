//! The flight recorder: the first bytes of the last packets of each connection in trouble.
//!
//! Only packets that took their turn in the PSN engine come here, and of them only those of records in
//! trouble: the usual packet does not pay for it. Any CPU writes to any recorder without a lock; tickets
//! tell a reader which packets are whole.

use crate::atomic;
use crate::clock::now_ns;
use crate::frame::{gather_linear, gathered};
use crate::maps::FLIGHT_RECORDERS;
use crate::observe::{Deferred, deferred};
use crate::sequence::{Turn, key_of};
use crate::settings::{HASH_SEED, RECORDERS};
use crate::tap::count_unrecorded;
use aya_ebpf::bindings::xdp_md;
use aya_ebpf::programs::XdpContext;
use core::ptr::{addr_of, addr_of_mut};
use roce_common::flow::{FlowKey, WideKey, hash_wide, slot_index};
use roce_common::recording::{
    RECORDED_BYTES, RECORDED_FRAMES, RECORDER_IDLE_NS, RECORDER_WAYS, RecordedHeader, Recorder,
};

/// Words of a packet that are copied.
const WORDS: usize = RECORDED_BYTES / 8;
/// An index that no recorder has.
const NOWHERE: u32 = u32::MAX;

/// Whether there are recorders at all; the verifier knows.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    RECORDERS.load() != 0
}

/// Records the packet of this turn, if it is in trouble; it is in one buffer, which nobody has gathered.
/// Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_record_linear(context: *mut xdp_md) -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    if turn.is_in_trouble {
        let frame_len = gather_linear(&XdpContext::new(context));
        roce_record_gathered(frame_len);
    }
    0
}

/// Records the packet of this turn, if it is in trouble; its first bytes are gathered, and it has
/// `frame_len`. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_record_gathered(frame_len: u32) -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    if !turn.is_in_trouble {
        return 0;
    }
    let Some(owner) = key_of(turn.owner) else { return 0 };
    let now = now_ns();
    let index = recorder_of(&owner, now);
    let Some(recorder) = FLIGHT_RECORDERS.get_ptr_mut(index) else {
        count_unrecorded(tap_of_deferred());
        return 0;
    };
    write(recorder, frame_len, turn.packets_before, now);
    0
}

/// Index of the recorder of a connection, which it may take over from another one; else [`NOWHERE`].
#[inline(always)]
fn recorder_of(owner: &WideKey, now: u64) -> u32 {
    let home = slot_index(hash_wide(owner, HASH_SEED.load()), RECORDERS.load());
    let (mut idle, mut idle_since) = (NOWHERE, now.saturating_sub(RECORDER_IDLE_NS));
    for way in 0..RECORDER_WAYS {
        let index = home + way;
        let Some(recorder) = FLIGHT_RECORDERS.get_ptr(index) else { break };
        // SAFETY: the verifier bounds it. Another CPU may take it over meanwhile: then this packet is in
        // the wrong one, which its addresses tell.
        let (is_its, seen) = unsafe {
            ((*recorder).owner.is_same(owner), addr_of!((*recorder).seen_ns).read_volatile())
        };
        if is_its && seen != 0 {
            return index;
        }
        if seen < idle_since {
            (idle, idle_since) = (index, seen);
        }
    }
    if idle != NOWHERE && take_over(idle, owner, now) { idle } else { NOWHERE }
}

/// Makes a recorder that of another connection. `false` when another CPU does just that.
#[inline(always)]
fn take_over(index: u32, owner: &WideKey, now: u64) -> bool {
    let Some(recorder) = FLIGHT_RECORDERS.get_ptr_mut(index) else { return false };
    // SAFETY: the verifier bounds it, and its lock is held from the first exchange to the last.
    unsafe {
        if atomic::exchange(addr_of_mut!((*recorder).lock), 1) != 0 {
            return false;
        }
        (*recorder).owner = *owner;
        let next = addr_of!((*recorder).next).read_volatile();
        addr_of_mut!((*recorder).first).write_volatile(next);
        addr_of_mut!((*recorder).seen_ns).write_volatile(now);
        atomic::exchange(addr_of_mut!((*recorder).lock), 0);
    }
    true
}

#[inline(always)]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "map values, and the bytes in a recorded packet, lie at multiples of 8"
)]
fn write(recorder: *mut Recorder, frame_len: u32, packets_before: u32, now: u64) {
    let Some(Deferred { packet, .. }) = deferred() else { return };
    let Some(bytes) = gathered() else { return };
    let captured =
        if frame_len < RECORDED_BYTES as u32 { frame_len } else { RECORDED_BYTES as u32 };
    // SAFETY: the verifier bounds the recorder and, by the mask, the place in its ring. Nobody else writes
    // there until 63 more packets have come.
    unsafe {
        let ticket = atomic::fetch_add(addr_of_mut!((*recorder).next), 1);
        let frames = addr_of_mut!((*recorder).frames).cast::<RecordedHeader>();
        let frame = frames.add((ticket & (RECORDED_FRAMES - 1)) as usize);
        atomic::exchange(addr_of_mut!((*frame).number), 0);
        (*frame).frame_len = frame_len;
        (*frame).time_ns = now;
        (*frame).vlan = packet.vlans.outer_word();
        (*frame).captured = captured;
        (*frame).tap = tap_of_deferred();
        (*frame).packets_before = packets_before;
        let (source, target) = (bytes.cast::<u64>(), addr_of_mut!((*frame).bytes).cast::<u64>());
        for word in 0..WORDS {
            target.add(word).write(source.add(word).read());
        }
        addr_of_mut!((*recorder).seen_ns).write_volatile(now);
        atomic::exchange(addr_of_mut!((*frame).number), ticket.wrapping_add(1));
    }
}

/// The tap of the deferred packet, which is counted.
#[inline(always)]
fn tap_of_deferred() -> u32 {
    deferred().map_or(0, |deferred| deferred.key.tagged_qp >> 28)
}
