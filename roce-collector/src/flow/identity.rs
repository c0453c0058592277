//! Who talks to whom.

use std::net::{IpAddr, Ipv6Addr};

use roce_common::flow::{FlowKey, WideKey};
use roce_common::wire::{RoceVersion, Transport};

/// Identity of a flow: what goes from one host to one QP of another, seen at one tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId {
    /// Tap that saw it.
    pub tap: u8,
    /// Sender; for RoCEv1 its GID.
    pub src: IpAddr,
    /// Receiver; for RoCEv1 its GID.
    pub dst: IpAddr,
    /// Destination QP, 24 bits.
    pub dst_qp: u32,
    /// Source QP, which only UD packets carry.
    pub src_qp: Option<u32>,
    /// Version.
    pub version: RoceVersion,
    /// Transport service; [`Transport::Cnp`] only for CNPs whose QP sent nothing else this way.
    pub transport: Transport,
}

impl FlowId {
    /// Identity of the flow that a record belongs to; `None` for the key of an empty slot.
    pub fn of(key: &WideKey) -> Option<Self> {
        let tag = key.tag()?;
        let is_v1 = key.source_qp & WideKey::ROCE_V1 != 0;
        let source_qp = key.source_qp & 0x00ff_ffff;
        let transport = tag.transport();
        Some(Self {
            tap: tag.tap(),
            src: address(key.source, is_v1),
            dst: address(key.destination, is_v1),
            dst_qp: key.dest_qp(),
            // RoCE has no QP 0: the DETH was not captured.
            src_qp: (transport == Transport::Ud && source_qp != 0).then_some(source_qp),
            version: if is_v1 { RoceVersion::V1 } else { RoceVersion::V2 },
            transport,
        })
    }

    /// A total order that does not depend on hash seeds: for output.
    pub(super) fn order(&self) -> impl Ord + use<> {
        let Self { tap, src, dst, dst_qp, src_qp, version, transport } = *self;
        (tap, src, dst, dst_qp, src_qp, version == RoceVersion::V2, transport.name())
    }
}

/// IPv4 addresses stand in wide keys as mapped ones. A GID stays what it is.
fn address(words: [u32; 4], is_gid: bool) -> IpAddr {
    let mut bytes = [0; 16];
    for (part, word) in bytes.chunks_exact_mut(4).zip(words) {
        part.copy_from_slice(&word.to_ne_bytes());
    }
    let address = Ipv6Addr::from(bytes);
    match address.to_ipv4_mapped() {
        Some(mapped) if !is_gid => mapped.into(),
        _ => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_common::flow::NarrowKey;

    #[test]
    fn ipv4_comes_back_and_gids_stay() {
        let narrow = NarrowKey {
            source: u32::from_ne_bytes([10, 0, 0, 1]),
            destination: u32::from_ne_bytes([10, 0, 0, 2]),
            tagged_qp: 0x3100_0012,
        };
        let mut key = WideKey::from(narrow);
        let id = FlowId::of(&key).unwrap();
        assert_eq!(
            (id.src.to_string(), id.dst.to_string()),
            ("10.0.0.1".into(), "10.0.0.2".into())
        );
        assert_eq!((id.tap, id.dst_qp, id.src_qp), (3, 0x12, None));
        assert_eq!((id.version, id.transport), (RoceVersion::V2, Transport::Rc));

        key.source_qp = WideKey::ROCE_V1 | 7;
        let id = FlowId::of(&key).unwrap();
        assert_eq!(id.src.to_string(), "::ffff:10.0.0.1");
        assert_eq!((id.version, id.src_qp), (RoceVersion::V1, None), "RC has no source QP");

        key.tagged_qp = 0x0300_0012;
        assert_eq!(FlowId::of(&key).unwrap().src_qp, Some(7), "UD has one");
        key.tagged_qp = WideKey::REMOVED;
        assert_eq!(FlowId::of(&key), None);
    }
}
