//! Counts over many looks and at the limit.

use super::*;
use roce_common::wire::{Parsed, SliceReader, parse_ethernet};
use roce_testkit::scenario::ManyFlows;

/// Counts every frame of `frames` in `store`.
fn fill(store: &mut FlowStore, frames: ManyFlows) {
    for frame in frames {
        let reader = SliceReader(&frame);
        let Parsed::Roce(packet) = parse_ethernet(&reader) else { panic!("a RoCE frame") };
        let key = WideKey::of(&reader, &packet).expect("addresses");
        store.count(&key, &packet, None);
    }
}

fn sums(store: FlowStore) -> (usize, u64, u64) {
    let totals = store.into_totals();
    let packets = totals.iter().map(|(_, totals, _)| totals.packets).sum();
    let payload = totals.iter().map(|(_, totals, _)| totals.payload_bytes).sum();
    (totals.len(), packets, payload)
}

#[test]
fn looks_lose_nothing() {
    for worth_taking in [0, 1000, u32::MAX] {
        let mut store = FlowStore::new(1000, MarkingPolicy::DEFAULT);
        store.between_looks = 3000;
        store.worth_taking = worth_taking;
        fill(&mut store, ManyFlows::new(50, 10_000, 100));
        let expected = if worth_taking == u32::MAX { 0 } else { 50 };
        assert_eq!(store.taken.len(), expected);
        assert_eq!(sums(store), (50, 10_000, 1_000_000));
    }
}

#[test]
fn flows_beyond_the_limit_are_counted_together() {
    let mut store = FlowStore::new(30, MarkingPolicy::DEFAULT);
    fill(&mut store, ManyFlows::new(50, 1000, 100));
    assert_eq!(store.other().packets, 20 * 20);
    assert_eq!(store.other().wire_bytes, 400 * (14 + 20 + 8 + 12 + 16 + 100 + 4));
    assert_eq!(sums(store), (30, 600, 60_000));
}
