//! What happens to single records.

use super::*;
use crate::read::FlowFilter;

#[test]
fn only_records_that_changed_are_read() {
    let (mut tables, mut sweeper) = tables(9);
    for qp in 1..=3 {
        tables.frame(0, &write(qp, 0));
    }
    sweeper.sweep(&mut tables, at(1)).unwrap();
    assert_eq!(tables.narrow.reads.replace(0), 3);
    sweeper.sweep(&mut tables, at(2)).unwrap();
    assert_eq!(tables.narrow.reads.get(), 0);
    tables.frame(0, &write(2, 1));
    sweeper.sweep(&mut tables, at(3)).unwrap();
    assert_eq!(tables.narrow.reads.get(), 1);

    let list = sweeper.flows(&FlowFilter::default(), 10);
    let seen: Vec<_> =
        list.flows.iter().map(|(_, flow)| (flow.dst_qp, flow.packets, flow.last_seen)).collect();
    let (early, late) = (Some(at(1).wall), Some(at(3).wall));
    assert_eq!(seen, [(2, 2, late), (1, 1, early), (3, 1, early)]);
}

#[test]
fn a_busy_record_keeps_its_old_state_and_is_counted() {
    let (mut tables, mut sweeper) = tables(9);
    tables.frame(0, &write(1, 0));
    sweeper.sweep(&mut tables, at(1)).unwrap();
    tables.frame(0, &write(1, 1));
    tables.narrow.busy_reads.set(1);
    sweeper.sweep(&mut tables, at(2)).unwrap();
    let view = sweeper.view();
    assert_eq!((view.busy_records, view.peers[0].1.packets), (1, 1));
    sweeper.sweep(&mut tables, at(3)).unwrap();
    assert_eq!(sweeper.view().peers[0].1.packets, 2);
}

#[test]
fn idle_flows_leave_the_table_but_not_the_totals_of_their_hosts() {
    let (mut tables, mut sweeper) = tables(9);
    tables.frame(2, &write(1, 0));
    sweeper.sweep(&mut tables, at(1)).unwrap();
    sweeper.sweep(&mut tables, at(FLOW_IDLE)).unwrap();
    assert_eq!((tables.narrow.used(), sweeper.view().devices[1].flows), (1, 1));
    sweeper.sweep(&mut tables, at(FLOW_IDLE + 1)).unwrap();
    let view = sweeper.view();
    assert_eq!((tables.narrow.used(), view.devices[1].flows, view.devices[1].evicted), (0, 0, 1));
    assert_eq!((view.peers[0].0.device, view.peers[0].1.packets), (1, 1));
    assert_eq!(view.qps.len(), 0);

    tables.frame(2, &write(1, 1));
    sweeper.sweep(&mut tables, at(FLOW_IDLE + 2)).unwrap();
    let view = sweeper.view();
    assert_eq!(view.peers[0].1.packets, 2);
    assert_eq!(view.qps[0].1.packets, 1, "a flow that comes back starts again");
}

#[test]
fn a_table_that_is_nearly_full_gives_up_what_is_idle_longest() {
    // 300 slots are made for 200 records.
    let (mut tables, mut sweeper) = tables(300);
    for qp in 0..190 {
        tables.frame(0, &write(qp + 2, 0));
        if qp % 10 == 9 {
            sweeper.sweep(&mut tables, at(u64::from(qp / 10))).unwrap();
        }
    }
    assert_eq!(tables.narrow.used(), 190, "nothing is idle for long enough");
    sweeper.sweep(&mut tables, at(20)).unwrap();
    assert_eq!(tables.narrow.used(), 180);
    let oldest_left = sweeper.flows(&FlowFilter::default(), 200).flows;
    let oldest_left = oldest_left.iter().map(|(_, flow)| flow.dst_qp).min();
    assert_eq!(oldest_left, Some(12), "the ten of the first sweep are gone");
    assert_eq!(sweeper.view().peers[0].1.packets, 190);
}

#[test]
fn packets_of_the_fallback_map_belong_to_their_flow() {
    let (mut tables, mut sweeper) = tables(9);
    tables.frame(0, &write(7, 10));
    tables.is_held = true;
    tables.frame(0, &write(7, 11));
    tables.frame(0, &write(8, 1));
    sweeper.sweep(&mut tables, at(1)).unwrap();
    let flow = |sweeper: &Sweeper, qp| {
        let filter = FlowFilter { qp: Some(qp), peer: None };
        sweeper.flows(&filter, 10).flows.pop().unwrap().1
    };
    let seven = flow(&sweeper, 7);
    assert_eq!((seven.packets, seven.psn.map(|psn| psn.last)), (2, Some(10)));
    assert_eq!(seven.opcodes["RDMA_WRITE_MIDDLE"], 2);
    let eight = flow(&sweeper, 8);
    assert_eq!((eight.packets, eight.psn), (1, None), "the fallback map keeps no PSNs");

    for second in 2..8 {
        sweeper.sweep(&mut tables, at(second)).unwrap();
    }
    assert!(tables.spill.is_empty(), "idle entries make room");
    tables.frame(0, &write(8, 2));
    sweeper.sweep(&mut tables, at(9)).unwrap();
    assert_eq!(flow(&sweeper, 8).packets, 2);
    sweeper.sweep(&mut tables, at(9 + FLOW_IDLE)).unwrap();
    let view = sweeper.view();
    assert_eq!((view.devices[0].flows, view.devices[0].evicted), (0, 2));
    assert_eq!(view.peers[0].1.packets, 4);
}

#[test]
fn the_limit_keeps_the_worst() {
    let (mut tables, mut sweeper) = tables(90);
    for qp in 2..40 {
        tables.frame(0, &write(qp, 0));
    }
    let nak = Packet::new(Opcode::RC_ACKNOWLEDGE).dest_qp(33).aeth(Aeth::nak(0, 0)).build();
    tables.frame(1, &nak);
    sweeper.sweep(&mut tables, at(1)).unwrap();
    let list = sweeper.flows(&FlowFilter::default(), 2);
    assert_eq!((list.matching, list.flows.len()), (39, 2));
    assert_eq!((list.flows[0].0, list.flows[0].1.dst_qp), (1, 33));
}
