//! Packet bytes of the contexts. The only bounds checks of the object.

use crate::maps::HEADERS;
use crate::opaque::opaque;
use aya_ebpf::bindings::__sk_buff;
use aya_ebpf::helpers::generated::{bpf_skb_load_bytes, bpf_xdp_get_buff_len, bpf_xdp_load_bytes};
use aya_ebpf::programs::{TcContext, XdpContext};
use roce_common::config::HEADER_BYTES;
use roce_common::recording::RECORDED_BYTES;
use roce_common::wire::{EtherType, PacketRead, VlanTag, VlanTags};

/// The directly readable part of a frame.
pub(crate) struct LinearFrame {
    data: usize,
    data_end: usize,
    vlan: VlanTags,
}

/// The first bytes of a frame, gathered from its buffers into memory of this CPU.
pub(crate) struct GatheredFrame {
    bytes: *const [u8; HEADER_BYTES],
    len: usize,
    vlan: VlanTags,
}

impl LinearFrame {
    #[inline(always)]
    pub(crate) fn of_xdp(context: &XdpContext) -> Self {
        // Both come from 32-bit fields; hidden, or the compiler does 32-bit sums of pointers.
        Self {
            data: opaque(context.data()),
            data_end: opaque(context.data_end()),
            vlan: VlanTags::UNTAGGED,
        }
    }

    #[inline(always)]
    pub(crate) fn of_tc(context: &TcContext) -> Self {
        let vlan = stripped_vlan(context.skb.skb);
        Self { data: opaque(context.data()), data_end: opaque(context.data_end()), vlan }
    }
}

impl PacketRead for LinearFrame {
    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let start = self.data + offset;
        if start + N > self.data_end {
            return None;
        }
        // SAFETY: start..start + N lies between data and data_end, which the verifier proves once more.
        Some(unsafe { (start as *const [u8; N]).read_unaligned() })
    }

    #[inline(always)]
    fn stripped_vlan(&self) -> VlanTags {
        self.vlan
    }
}

impl PacketRead for GatheredFrame {
    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        // Hidden, so that the value that is compared is the one that is added to the pointer.
        let offset = opaque(offset);
        if offset > HEADER_BYTES - N || offset + N > self.len {
            return None;
        }
        // SAFETY: offset + N is at most HEADER_BYTES, the length of the buffer.
        Some(unsafe { self.bytes.cast::<u8>().add(offset).cast::<[u8; N]>().read_unaligned() })
    }

    #[inline(always)]
    fn stripped_vlan(&self) -> VlanTags {
        self.vlan
    }
}

impl GatheredFrame {
    /// Gathers a frame whose first buffer is too short. Only where the kernel has the helpers.
    #[inline(always)]
    pub(crate) fn from_xdp(context: &XdpContext) -> Option<Self> {
        // SAFETY: the context is that of the running program.
        let len = unsafe { bpf_xdp_get_buff_len(context.ctx) };
        Self::gather(len as usize, VlanTags::UNTAGGED, |buffer, len| {
            // SAFETY: the helper writes `len` bytes, for which the buffer has room, or fails.
            unsafe { bpf_xdp_load_bytes(context.ctx, 0, buffer.cast(), len) }
        })
    }

    /// Gathers a frame whose linear part is too short.
    #[inline(always)]
    pub(crate) fn from_tc(context: &TcContext) -> Option<Self> {
        let skb = context.skb.skb;
        Self::gather(context.len() as usize, stripped_vlan(skb), |buffer, len| {
            // SAFETY: the helper writes `len` bytes, for which the buffer has room, or fails.
            unsafe { bpf_skb_load_bytes(skb.cast_const().cast(), 0, buffer.cast(), len) }
        })
    }

    #[inline(always)]
    fn gather(
        frame_len: usize,
        vlan: VlanTags,
        load: impl FnOnce(*mut u8, u32) -> i64,
    ) -> Option<Self> {
        let buffer = HEADERS.get_ptr_mut(0)?;
        let len = if frame_len > HEADER_BYTES { HEADER_BYTES } else { frame_len };
        // Hidden, so that the value that is checked is the one that the helper gets; and compared with
        // more than 0, because verifiers before 6.8 learn nothing from "not 0".
        let len = opaque(len);
        #[expect(
            clippy::manual_range_contains,
            reason = "a range becomes one comparison of a difference"
        )]
        let fits = len >= EtherType::HEADER_LEN && len <= HEADER_BYTES;
        if !fits || load(buffer.cast(), len as u32) != 0 {
            return None;
        }
        Some(Self { bytes: buffer, len, vlan })
    }
}

/// The bytes of the frame that was gathered last, by this run of the program.
#[inline(always)]
pub(crate) fn gathered() -> Option<*const [u8; HEADER_BYTES]> {
    HEADERS.get_ptr(0)
}

/// Gathers the first bytes of a frame in one buffer, without a helper that only newer kernels have; the
/// frame's length.
#[inline(always)]
pub(crate) fn gather_linear(context: &XdpContext) -> u32 {
    let frame = LinearFrame::of_xdp(context);
    let Some(buffer) = HEADERS.get_ptr_mut(0) else { return 0 };
    // Any frame may end here at any byte; only packets in trouble come this way.
    for at in 0..RECORDED_BYTES {
        let Some([byte]) = frame.read::<1>(at) else { break };
        // SAFETY: the byte lies in the buffer, which is this CPU's own.
        unsafe { buffer.cast::<u8>().add(at).write(byte) };
    }
    (frame.data_end - frame.data) as u32
}

#[inline(always)]
fn stripped_vlan(skb: *mut __sk_buff) -> VlanTags {
    // SAFETY: the context of a running program is valid, and the verifier checks each field.
    let (present, tci) = unsafe { ((*skb).vlan_present, (*skb).vlan_tci) };
    let mut tags = VlanTags::UNTAGGED;
    if present != 0 {
        tags.push(VlanTag(tci as u16));
    }
    tags
}
