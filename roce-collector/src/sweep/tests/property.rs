//! Random traffic, pauses, evictions, busy records and full tables.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use roce_common::tap::TapCounters;

use super::*;
use crate::sweep::{Counts, PeerKey};

#[derive(Clone, Debug)]
struct Sent {
    tap: u8,
    src: u8,
    is_v6: bool,
    dest_qp: u32,
    kind: u8,
    tos: u8,
    /// Seconds of silence, after which a sweep follows.
    pause: Option<u64>,
    is_held: bool,
    busy_reads: u32,
}

fn sent() -> impl Strategy<Value = Sent> {
    let pause = prop::option::weighted(0.3, prop_oneof![1..5u64, 20..60u64]);
    let flow = (0..4u8, 0..6u8, any::<bool>(), 2..5u32);
    (flow, 0..4u8, any::<u8>(), pause, prop::bool::weighted(0.1), 0..3u32).prop_map(
        |((tap, src, is_v6, dest_qp), kind, tos, pause, is_held, busy_reads)| Sent {
            tap,
            src,
            is_v6,
            dest_qp,
            kind,
            tos,
            pause,
            is_held,
            busy_reads,
        },
    )
}

impl Sent {
    fn ends(&self) -> (IpAddr, IpAddr) {
        if self.is_v6 {
            let host = |last| {
                IpAddr::from(Ipv6Addr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]))
            };
            (host(self.src), host(200))
        } else {
            let host = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
            (host(self.src), host(200))
        }
    }

    fn frame(&self) -> Vec<u8> {
        let (src, dst) = self.ends();
        let packet = match self.kind {
            0 => Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE).payload_len(64),
            1 => Packet::new(Opcode::RC_ACKNOWLEDGE).aeth(Aeth::nak(0, 0)),
            2 => Packet::new(Opcode::CNP),
            _ => Packet::new(Opcode::UD_SEND_ONLY).payload_len(8),
        };
        packet
            .ip(src, dst)
            .dest_qp(self.dest_qp)
            .dscp(self.tos >> 2)
            .ecn(ECN[usize::from(self.tos & 3)])
            .build()
    }
}

/// Sums of both taps of a device, as far as the taps count them.
fn device_totals(tables: &FakeTables, device: usize) -> (u64, u64) {
    let taps = &tables.taps[device * 2..device * 2 + 2];
    (taps.iter().map(TapCounters::packets).sum(), taps.iter().map(|t| t.wire_bytes).sum())
}

fn add(total: &mut Counts, packet: &Sent, bytes: u64) {
    total.packets += 1;
    total.bytes += bytes;
    total.ce += u64::from(packet.tos & 3 == 3);
    total.naks += u64::from(packet.kind == 1);
    total.cnps += u64::from(packet.kind == 2);
}

proptest! {
    #[test]
    fn totals_of_hosts_never_go_back_and_are_exact(
        stream in prop::collection::vec(sent(), 1..200),
        slots in 3..60_usize,
    ) {
        let (mut tables, mut sweeper) = tables(slots);
        let mut truth: HashMap<PeerKey, Counts> = HashMap::new();
        let mut last: HashMap<PeerKey, Counts> = HashMap::new();
        let mut evicted = [0; 2];
        let mut now = 0;
        for packet in &stream {
            tables.is_held = packet.is_held;
            let parsed = tables.frame(packet.tap, &packet.frame());
            let key = PeerKey { device: packet.tap / 2, ends: Some(packet.ends()) };
            add(truth.entry(key).or_default(), packet, u64::from(parsed.wire_bytes));
            let Some(pause) = packet.pause else { continue };
            now += pause;
            tables.narrow.busy_reads.set(packet.busy_reads);
            sweeper.sweep(&mut tables, at(now)).unwrap();
            let view = sweeper.view();
            for (key, counts) in &view.peers {
                let before = last.insert(*key, *counts).unwrap_or_default();
                prop_assert!(counts.packets >= before.packets && counts.bytes >= before.bytes);
                prop_assert!(counts.naks >= before.naks && counts.mismarked >= before.mismarked);
            }
            for (device, before) in evicted.iter_mut().enumerate() {
                prop_assert!(view.devices[device].evicted >= *before);
                *before = view.devices[device].evicted;
            }
        }
        tables.narrow.busy_reads.set(0);
        sweeper.sweep(&mut tables, at(now + 1)).unwrap();
        let view = sweeper.view();

        let others = view.peers.iter().filter(|(key, _)| key.ends.is_none());
        let mut left: HashMap<u8, u64> =
            others.map(|(key, counts)| (key.device, counts.packets)).collect();
        let known: HashMap<_, _> = view.peers.iter().copied().collect();
        for (key, counts) in &truth {
            match known.get(key) {
                Some(known) => prop_assert_eq!(Counts { mismarked: 0, psns: None, ..*known }, *counts),
                None => *left.entry(key.device).or_default() -= counts.packets,
            }
        }
        prop_assert!(left.values().all(|packets| *packets == 0), "{:?}", left);
        for device in 0..2 {
            let own = view.peers.iter().filter(|(key, _)| usize::from(key.device) == device);
            let (packets, bytes) =
                own.fold((0, 0), |sum, (_, c)| (sum.0 + c.packets, sum.1 + c.bytes));
            prop_assert_eq!((packets, bytes), device_totals(&tables, device));
        }
        // At the end, when nothing was sent any more, the tables are empty.
        sweeper.sweep(&mut tables, at(now + 1 + FLOW_IDLE)).unwrap();
        prop_assert_eq!(tables.narrow.used() + tables.wide.used(), 0);
        prop_assert!(sweeper.view().devices.iter().all(|device| device.flows == 0));
    }
}
