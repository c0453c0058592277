//! Sweep after sweep, and what is said about it.

use std::time::Duration;

use super::*;
use crate::inventory::netlink::{DeviceView, PortRecord, QpRecord};

/// An inventory with the time of its sweeps and the tasks that it asked for.
struct Host {
    inventory: Inventory,
    seconds: u64,
    asked: Vec<u32>,
    is_proc_busy: bool,
}

fn host() -> Host {
    let inventory = Inventory::new(100);
    Host { inventory, seconds: 0, asked: Vec::new(), is_proc_busy: false }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(Duration::from_secs(seconds).as_nanos() as u64)
}

impl Host {
    /// A sweep a second.
    fn sweep(&mut self, view: KernelView) -> Vec<String> {
        self.seconds += 1;
        let (asked, is_busy) = (&mut self.asked, self.is_proc_busy);
        let mut owner = |task| {
            asked.push(task);
            let comm = Some(format!("job{task}"));
            let owner = Owner { task, pid: Some(task), comm, thread: None, container: None };
            (!is_busy).then(|| Arc::new(owner))
        };
        let events = self.inventory.update(view, at(self.seconds), &mut owner);
        assert!(events.iter().all(|event| event.time == at(self.seconds)));
        events.iter().map(QpEvent::to_string).collect()
    }

    fn numbers(&self) -> Vec<u32> {
        self.inventory.qps().iter().map(|qp| qp.lqpn).collect()
    }
}

fn device(index: u32, is_whole: bool) -> DeviceView {
    let netdev = Some(format!("eth{index}"));
    let ports = vec![PortRecord { port: 1, netdev_index: Some(7), netdev }];
    DeviceView { index, name: format!("mlx5_{index}"), ports, is_whole }
}

fn view(qps: &[QpRecord]) -> KernelView {
    KernelView { devices: vec![device(0, true), device(1, true)], qps: qps.to_vec() }
}

fn damaged_view(qps: &[QpRecord]) -> KernelView {
    KernelView { devices: vec![device(0, false), device(1, true)], ..view(qps) }
}

fn qp(lqpn: u32, state: QpState) -> QpRecord {
    QpRecord {
        device: 0,
        port: Some(1),
        lqpn,
        rqpn: Some(lqpn + 0x1000),
        qp_type: QpType::RC,
        subtype: None,
        state,
        sq_psn: Some(1),
        rq_psn: Some(2),
        path_migration: None,
        task: Some(40),
        kernel_name: None,
    }
}

const RTS: QpState = QpState::RTS;
const ERR: QpState = QpState::ERR;

#[test]
fn what_is_there_at_the_start_did_not_appear_but_may_be_in_error() {
    let mut host = host();
    let said = host.sweep(view(&[qp(0x45, RTS), qp(0x46, ERR)]));
    let expected = "RC QP 0x46 of mlx5_0/1 (eth0) to QP 0x1046, made by process 40 (job40) is in ERR as first seen";
    assert_eq!(said, [expected]);
    assert_eq!(host.inventory.failed().values().sum::<u64>(), 1);
}

#[test]
fn an_error_is_said_once_with_everything_that_is_known() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, RTS), qp(0x46, RTS)]));
    let said = host.sweep(view(&[qp(0x45, ERR), qp(0x46, RTS)]));
    let expected = "RC QP 0x45 of mlx5_0/1 (eth0) to QP 0x1045, made by process 40 (job40) went from RTS to ERR";
    assert_eq!(said, [expected]);
    assert_eq!(host.sweep(view(&[qp(0x45, ERR), qp(0x46, RTS)])), [""; 0]);
    let known = host.inventory.qps();
    assert_eq!((known[0].first_seen, known[0].state_since), (at(1), at(2)));
    assert_eq!((known[1].first_seen, known[1].state_since), (at(1), at(1)));
    let key = (Arc::from("mlx5_0"), QpType::RC);
    assert_eq!(host.inventory.failed().get(&key), Some(&1));
}

#[test]
fn a_life_in_order() {
    let mut host = host();
    host.sweep(view(&[]));
    let fresh = QpRecord { port: None, rqpn: Some(0), ..qp(0x45, QpState::RESET) };
    let said = host.sweep(view(&[fresh]));
    // Of a device with one port the interface is known all the same; QP 0 is nobody's peer.
    assert_eq!(said, ["RC QP 0x45 of mlx5_0 (eth0), made by process 40 (job40) is new, in RESET"]);
    let said = host.sweep(view(&[qp(0x45, RTS)]));
    assert!(said.len() == 1 && said[0].ends_with("went from RESET to RTS"), "{said:?}");
    assert_eq!(host.sweep(view(&[])), [""; 0], "one sweep without it says nothing");
    assert_eq!(host.numbers(), [0x45]);
    let said = host.sweep(view(&[]));
    assert!(said.len() == 1 && said[0].ends_with("is gone, its last state was RTS"), "{said:?}");
    assert_eq!(host.numbers(), [0; 0]);
}

#[test]
fn one_that_a_single_dump_left_out_is_neither_gone_nor_new() {
    let mut host = host();
    for _ in 0..5 {
        assert_eq!(host.sweep(view(&[qp(0x45, RTS), qp(0x46, RTS)])), [""; 0]);
        assert_eq!(host.sweep(view(&[qp(0x46, RTS)])), [""; 0]);
    }
    // A state that changed while it was out of sight is noticed.
    let said = host.sweep(view(&[qp(0x45, ERR), qp(0x46, RTS)]));
    assert!(said.len() == 1 && said[0].ends_with("went from RTS to ERR"), "{said:?}");
}

#[test]
fn a_dump_that_is_not_whole_proves_nothing() {
    let mut host = host();
    let other = QpRecord { device: 1, ..qp(0x45, RTS) };
    host.sweep(view(&[qp(0x45, RTS), other]));
    // The other device's dumps are whole.
    assert_eq!(host.sweep(damaged_view(&[])), [""; 0]);
    let said = host.sweep(damaged_view(&[]));
    assert!(said.len() == 1 && said[0].contains("of mlx5_1/1 (eth1)"), "{said:?}");
    for _ in 0..7 {
        assert_eq!(host.sweep(damaged_view(&[])), [""; 0]);
    }
    let said = host.sweep(damaged_view(&[]));
    assert!(
        said.len() == 1 && said[0].ends_with("is not seen any more, sweeps are not whole"),
        "{said:?}"
    );
    assert_eq!((host.numbers().len(), host.inventory.out_of_sight()), (0, 1));
}

#[test]
fn a_device_that_goes_takes_its_queue_pairs_with_it() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, RTS), QpRecord { device: 1, ..qp(0x45, RTS) }]));
    let only_second = KernelView { devices: vec![device(1, true)], qps: Vec::new() };
    let said = host.sweep(only_second);
    assert!(said.len() == 1 && said[0].starts_with("RC QP 0x45 of mlx5_0/1"), "{said:?}");
}

#[test]
fn a_number_that_is_given_anew_is_another_queue_pair() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, ERR)]));
    let said = host.sweep(view(&[QpRecord { task: Some(41), ..qp(0x45, ERR) }]));
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("process 40 (job40) is gone"), "{said:?}");
    assert!(said[1].contains("process 41 (job41) is new, in ERR"), "{said:?}");
    assert!(said[2].contains("process 41 (job41) is in ERR as first seen"), "{said:?}");
    let said = host.sweep(view(&[QpRecord { qp_type: QpType::UD, task: None, ..qp(0x45, RTS) }]));
    assert!(said.len() == 2 && said[1].starts_with("UD QP 0x45"), "{said:?}");
}

#[test]
fn a_thread_that_ended_is_remembered() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, RTS)]));
    let said = host.sweep(view(&[QpRecord { task: None, ..qp(0x45, ERR) }]));
    assert!(said.len() == 1 && said[0].contains("process 40 (job40) went from RTS"), "{said:?}");
}

#[test]
fn owners_are_asked_for_once_and_again_when_that_had_to_wait() {
    let mut host = host();
    host.is_proc_busy = true;
    host.sweep(view(&[qp(0x45, RTS)]));
    assert_eq!(host.inventory.qps()[0].owner, None);
    host.is_proc_busy = false;
    host.sweep(view(&[qp(0x45, RTS)]));
    host.sweep(view(&[qp(0x45, RTS)]));
    assert_eq!(
        (host.asked.as_slice(), host.inventory.qps()[0].comm()),
        (&[40, 40][..], Some("job40"))
    );
}

#[test]
fn each_port_has_its_own_general_services() {
    let mut host = host();
    let general = |port| QpRecord {
        port: Some(port),
        qp_type: QpType::GSI,
        rqpn: None,
        task: None,
        kernel_name: Some("ib_core".to_owned()),
        ..qp(1, RTS)
    };
    host.sweep(view(&[qp(0x45, RTS), general(1), general(2)]));
    assert_eq!(host.sweep(view(&[qp(0x45, RTS), general(2), general(1)])), [""; 0]);
    assert_eq!(host.numbers(), [1, 1, 0x45]);
    assert_eq!(
        host.inventory.qps()[1].to_string(),
        "GSI QP 0x1 of mlx5_0/2, made by the kernel (ib_core)"
    );
}

#[test]
fn of_one_that_comes_twice_the_last_word_counts() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, RTS)]));
    let said = host.sweep(view(&[qp(0x45, RTS), qp(0x45, ERR)]));
    assert!(said.len() == 1 && said[0].ends_with("went from RTS to ERR"), "{said:?}");
    assert_eq!(host.numbers(), [0x45]);
}

#[test]
fn what_is_seen_goes_before_what_was_seen() {
    let mut host = host();
    let all = |range: std::ops::Range<u32>| range.map(|lqpn| qp(lqpn, RTS)).collect::<Vec<_>>();
    host.sweep(view(&all(0..100)));
    let said = host.sweep(damaged_view(&all(50..150)));
    assert_eq!(host.numbers(), (50..150).collect::<Vec<_>>());
    let new = said.iter().filter(|event| event.ends_with("is new, in RTS")).count();
    let unseen = said.iter().filter(|event| event.contains("is not seen any more")).count();
    assert_eq!((new, unseen, said.len()), (50, 50, 100));
    assert_eq!(host.inventory.out_of_sight(), 50);
}

#[test]
fn a_queue_pair_of_the_driver_says_of_which_kind_it_is() {
    let mut host = host();
    let kind = QpRecord { qp_type: QpType(0xff), subtype: Some("DCI".to_owned()), ..qp(0x45, RTS) };
    host.sweep(view(&[kind]));
    let known = host.inventory.qps()[0].to_string();
    assert!(known.starts_with("DCI QP 0x45 of mlx5_0/1"), "{known}");
}

#[test]
fn a_device_that_is_renamed_keeps_its_queue_pairs() {
    let mut host = host();
    host.sweep(view(&[qp(0x45, RTS)]));
    let mut renamed = view(&[qp(0x45, RTS)]);
    renamed.devices[0].name = "roce0".to_owned();
    assert_eq!(host.sweep(renamed), [""; 0]);
    assert_eq!(&*host.inventory.qps()[0].device, "roce0");
    let population = host.inventory.population();
    assert_eq!(population.get(&(Arc::from("roce0"), QpType::RC, RTS)), Some(&1));
}
