//! Whatever the kernel says: the events tell the whole story.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::inventory::netlink::{DeviceView, QpRecord};

/// A queue pair of one of two devices.
fn record() -> impl Strategy<Value = QpRecord> {
    (
        0..2_u32,
        0..12_u32,
        prop::sample::select(vec![QpState::RTS, QpState::ERR, QpState::INIT]),
        0..3_u32,
    )
        .prop_map(|(device, lqpn, state, task)| QpRecord {
            device,
            port: None,
            lqpn,
            rqpn: None,
            qp_type: QpType::RC,
            subtype: None,
            state,
            sq_psn: None,
            rq_psn: None,
            path_migration: None,
            task: task.checked_sub(1),
            kernel_name: None,
        })
}

/// What a kernel may say: devices that come, go and fail; records in any order, some twice.
fn view() -> impl Strategy<Value = KernelView> {
    let devices = prop::collection::vec(prop::option::weighted(0.9, prop::bool::weighted(0.8)), 2);
    (devices, prop::collection::vec(record(), 0..16)).prop_map(|(devices, qps)| {
        let devices = (0..).zip(devices).filter_map(|(index, is_whole)| {
            let name = format!("rxe{index}");
            Some(DeviceView { index, name, ports: Vec::new(), is_whole: is_whole? })
        });
        let devices: Vec<_> = devices.collect();
        let is_there = |qp: &QpRecord| devices.iter().any(|device| device.index == qp.device);
        let qps = qps.into_iter().filter(is_there).collect();
        KernelView { devices, qps }
    })
}

type Story = BTreeMap<(u32, u32), QpState>;

fn told(story: &mut Story, event: &QpEvent) {
    let key = (event.qp.device_index, event.qp.lqpn);
    let state = event.qp.state;
    match event.change {
        Change::Appeared => assert_eq!(story.insert(key, state), None, "{event}"),
        Change::Vanished | Change::OutOfSight => assert!(story.remove(&key).is_some(), "{event}"),
        Change::State { from } | Change::Failed { from: Some(from) } => {
            assert_eq!(story.insert(key, state), Some(from), "{event}");
        }
        Change::Failed { from: None } => {
            assert_eq!(story.get(&key), Some(&QpState::ERR), "{event}");
        }
    }
}

fn known(inventory: &Inventory) -> Story {
    inventory.qps().iter().map(|qp| ((qp.device_index, qp.lqpn), qp.state)).collect()
}

proptest! {
    #[test]
    fn events_lead_from_each_sweep_to_the_next(
        views in prop::collection::vec(view(), 1..40),
        limit in 4..40_usize,
    ) {
        let mut inventory = Inventory::new(limit);
        let mut story = Story::new();
        for (sweep, mut view) in views.into_iter().enumerate() {
            // As the reader does.
            view.qps.truncate(limit);
            let seen: Vec<_> = view.qps.iter().map(|qp| (qp.device, qp.lqpn)).collect();
            let events = inventory.update(view, Timestamp::default(), &mut |_| None);
            if sweep == 0 {
                story = known(&inventory);
            } else {
                for event in &events {
                    told(&mut story, event);
                }
            }
            prop_assert_eq!(&story, &known(&inventory));
            prop_assert!(inventory.qps().len() <= limit);
            prop_assert!(seen.iter().all(|key| story.contains_key(key)), "what is seen is known");
            let keys: Vec<_> = inventory.qps().iter().map(|qp| (qp.device_index, qp.lqpn)).collect();
            prop_assert!(keys.is_sorted_by(|a, b| a < b));
        }
    }
}
