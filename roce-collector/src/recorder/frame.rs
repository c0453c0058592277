//! Packets as the kernel has recorded them.

use std::collections::HashMap;

use roce_common::flow::{FlowKey, WideKey};
use roce_common::recording::RecordedHeader;
use roce_common::wire::{Parsed, SliceReader, parse_ethernet};

use super::Connection;
use crate::capture::Timestamp;
use crate::sweep::Moment;

/// EtherTypes of VLAN tags: 802.1Q, and 802.1ad.
const VLAN_TYPES: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Where the EtherType of a frame is.
const TYPE_AT: usize = 12;
const VLAN_LEN: u32 = 4;

/// The first bytes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// Tap that saw it.
    pub tap: u8,
    /// When.
    pub time: Timestamp,
    /// Bytes of the whole frame, without FCS.
    pub wire_len: u32,
    /// From the Ethernet header on, at most 96 and a VLAN tag.
    pub bytes: Vec<u8>,
    /// Packets of its record between the one before it in the recording and this one: they were not in trouble.
    pub left_out: u32,
}

/// What was recorded of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// In order of time.
    pub frames: Vec<RecordedFrame>,
    /// Packets that were overwritten while they were read.
    pub lost: u64,
}

impl Recording {
    /// What the kernel recorded of a connection. `now` is a moment on both clocks.
    pub fn of(mut headers: Vec<RecordedHeader>, connection: &Connection, now: Moment) -> Self {
        headers.sort_by_key(|header| header.time_ns);
        let mut before: HashMap<WideKey, u32> = HashMap::new();
        let mut recording = Self::default();
        for header in &headers {
            let mut frame = RecordedFrame::of(header, now);
            // A recorder that changed hands in this moment may have a packet of somebody else.
            let Some(key) = key_of(&frame).filter(|key| connection.has_record(key)) else {
                continue;
            };
            let packets = header.packets_before;
            if let Some(last) = before.insert(key, packets) {
                let between = packets.wrapping_sub(last).wrapping_sub(1);
                // Two CPUs may have changed the order.
                frame.left_out = if between.cast_signed() < 0 { 0 } else { between };
            }
            recording.frames.push(frame);
        }
        recording
    }
}

/// Key of the record that a frame was counted in.
fn key_of(frame: &RecordedFrame) -> Option<WideKey> {
    let reader = SliceReader(&frame.bytes);
    let Parsed::Roce(packet) = parse_ethernet(&reader) else { return None };
    Some(WideKey::of(&reader, &packet)?.at_tap(frame.tap))
}

impl RecordedFrame {
    /// A packet that the kernel recorded; `now` is a moment on both clocks.
    pub fn of(header: &RecordedHeader, now: Moment) -> Self {
        let age = now.boot_ns.saturating_sub(header.time_ns);
        let captured = (header.captured as usize).min(header.bytes.len());
        let (mut bytes, mut wire_len) = (header.bytes[..captured].to_vec(), header.frame_len);
        if let Ok(tci) = u16::try_from(header.vlan)
            && let Some(ether_type) = bytes.get(TYPE_AT..TYPE_AT + 2)
            && !VLAN_TYPES.iter().any(|vlan| vlan == ether_type)
        {
            // The kernel keeps the tag beside the frame.
            let [high, low] = tci.to_be_bytes();
            let [first, second] = VLAN_TYPES[0];
            bytes.splice(TYPE_AT..TYPE_AT, [first, second, high, low]);
            wire_len += VLAN_LEN;
        }
        Self {
            tap: header.tap as u8,
            time: Timestamp::from_nanos(now.wall.as_nanos().saturating_sub(age)),
            wire_len,
            bytes,
            left_out: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_common::recording::RECORDED_BYTES;
    use roce_testkit::packet::{Opcode, Packet, VlanTag};
    use roce_testkit::scenario;
    use std::time::Duration;

    const NOW: Moment = Moment {
        wall: Timestamp::from_nanos(1_000_000_000_000),
        boot_ns: 5_000_000_000,
        uptime: Duration::ZERO,
    };

    /// VLAN 100, priority 3.
    const TCI: u32 = 0x6064;

    fn header(frame: &[u8], vlan: u32) -> RecordedHeader {
        let mut bytes = [0; RECORDED_BYTES];
        let captured = frame.len().min(bytes.len());
        bytes[..captured].copy_from_slice(&frame[..captured]);
        RecordedHeader {
            number: 1,
            frame_len: frame.len() as u32,
            time_ns: 3_500_000_000,
            vlan,
            captured: captured as u32,
            tap: 3,
            packets_before: 0,
            bytes,
        }
    }

    #[test]
    fn what_is_left_out_between_two_packets_is_known() {
        let lab = scenario::Connection::ipv4(1);
        let ends = |end: scenario::Endpoint| (Some(end.ip), Some(end.qp));
        let ((a, a_qp), (b, b_qp)) = (ends(lab.requester), ends(lab.responder));
        let write = lab.forward(Opcode::RC_RDMA_WRITE_MIDDLE).payload_len(64).build();
        let answer = lab.backward(Opcode::RC_ACKNOWLEDGE).build();
        let other = scenario::Connection::ipv4(2).forward(Opcode::RC_SEND_ONLY).build();
        let packets = [
            (1, &write, u32::MAX),
            (3, &answer, 7),
            (2, &other, 5),
            (4, &write, 0),
            (5, &write, 11),
            (6, &write, 10),
            (7, &answer, 9),
        ];
        let headers = packets.map(|(time_ns, frame, packets_before)| RecordedHeader {
            time_ns,
            packets_before,
            ..header(frame, 65_536)
        });
        let connection = Connection { a, a_qp, b, b_qp };
        let recording = Recording::of(headers.to_vec(), &connection, NOW);
        let left_out: Vec<_> = recording.frames.iter().map(|frame| frame.left_out).collect();
        assert_eq!(left_out, [0, 0, 0, 10, 0, 1], "the other connection is left out, too");
    }

    #[test]
    fn a_tag_that_the_kernel_took_out_is_put_back() {
        let packet = |opcode| Packet::new(opcode).payload_len(200);
        let plain = packet(Opcode::RC_SEND_ONLY).build();
        let tag = VlanTag::customer(100, 3);
        let tagged = packet(Opcode::RC_SEND_ONLY).vlan(tag).build();
        let stripped = RecordedFrame::of(&header(&plain, TCI), NOW);
        assert_eq!(stripped.bytes, tagged[..RECORDED_BYTES + 4]);
        assert_eq!((stripped.wire_len as usize, stripped.tap), (tagged.len(), 3));
        assert_eq!(stripped.time, Timestamp::from_nanos(998_500_000_000));
        let whole = RecordedFrame::of(&header(&tagged, TCI), NOW);
        assert_eq!(whole.bytes, tagged[..RECORDED_BYTES]);
        let untagged = RecordedFrame::of(&header(&plain, 65_536), NOW);
        assert_eq!(untagged.bytes, plain[..RECORDED_BYTES]);
        let short = RecordedFrame::of(&header(&plain[..60], 65_536), NOW);
        assert_eq!((short.bytes.len(), short.wire_len), (60, 60));
    }
}
