//! Where packet bytes come from.

use super::VlanTags;

/// Read access to one frame.
///
/// The back ends are a byte slice (here), the XDP context and the TC context (`roce-ebpf`), so the
/// same parser runs in the kernel, on capture files and in tests.
pub trait PacketRead {
    /// `N` bytes at `offset`, or `None` when they are not all there.
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]>;

    /// A VLAN tag that the network device or the kernel took out of the frame before this tap.
    fn stripped_vlan(&self) -> VlanTags {
        VlanTags::UNTAGGED
    }
}

/// A frame in memory, perhaps cut short by a capture's snap length.
#[derive(Clone, Copy, Debug)]
pub struct SliceReader<'a>(pub &'a [u8]);

impl PacketRead for SliceReader<'_> {
    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let end = offset.checked_add(N)?;
        self.0.get(offset..end)?.try_into().ok()
    }
}
