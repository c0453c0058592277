//! Signals of one failure and of several.

use std::time::Duration;

use super::*;
use crate::bpf::{QpFailure, QpFailureKind, QpSettings};
use crate::diagnosis::Outcome;
use crate::explain::{Cause, Decoder, WcStatus};
use crate::incident::{WireKind, WireTrouble};
use crate::inventory::{Change, Owner, Qp, QpEvent, QpState, QpType};

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000_000 + Duration::from_secs_f64(seconds).as_nanos() as u64)
}

/// A host with its correlator; each signal comes when it happens.
#[derive(Debug)]
struct Host(Correlator);

impl Host {
    fn new() -> Self {
        Self(Correlator::new(CorrelatorLimits::default()))
    }

    /// Lines of a log, all written at one time.
    fn log(&mut self, seconds: f64, source: &str, lines: &str) {
        for signal in logged(seconds, source, lines) {
            self.0.take(signal, at(seconds));
        }
    }

    fn netlink(&mut self, seconds: f64, change: Change, qp: &Qp) {
        self.0.take(listed(seconds, change, qp), at(seconds));
    }

    fn wire(&mut self, seconds: f64, kind: WireKind, qps: (Option<u32>, u32)) {
        self.0.take(seen(seconds, kind, qps), at(seconds));
    }

    fn due(&mut self, seconds: f64) -> Vec<Group> {
        self.0.due(at(seconds))
    }

    fn one(&mut self, seconds: f64) -> Group {
        let mut groups = self.due(seconds);
        assert_eq!(groups.len(), 1, "{groups:#?}");
        groups.remove(0)
    }
}

fn logged(seconds: f64, source: &str, lines: &str) -> Vec<Signal> {
    let mut decoder = Decoder::default();
    let mut records = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        records.extend(decoder.line_written(line.as_bytes(), number, Some(at(seconds))));
    }
    records.extend(decoder.finish());
    assert!(!records.is_empty(), "{lines}");
    let record = |record| Signal::Log { source: source.into(), record: Box::new(record) };
    records.into_iter().map(record).collect()
}

fn listed(seconds: f64, change: Change, qp: &Qp) -> Signal {
    let (time, qp) = (at(seconds), qp.clone());
    Signal::Netlink(Box::new(QpEvent { time, change, qp }))
}

fn seen(seconds: f64, kind: WireKind, (near, far): (Option<u32>, u32)) -> Signal {
    Signal::Wire(WireTrouble {
        time: at(seconds),
        device: Some("eth0".into()),
        requester: "10.0.0.11".parse().expect("an address"),
        requester_qp: near,
        responder: "10.0.0.12".parse().expect("an address"),
        responder_qp: Some(far),
        kind,
    })
}

fn qp(lqpn: u32, rqpn: u32, pid: u32) -> Qp {
    let owner = Owner {
        task: pid,
        pid: Some(pid),
        comm: Some("trainer".to_owned()),
        thread: None,
        container: None,
    };
    Qp {
        device: "mlx5_3".into(),
        device_index: 3,
        port: Some(1),
        netdev: Some("eth0".into()),
        lqpn,
        rqpn: Some(rqpn),
        qp_type: QpType::RC,
        subtype: None,
        state: QpState::ERR,
        sq_psn: None,
        rq_psn: None,
        path_migration: None,
        task: Some(pid),
        owner: Some(Arc::new(owner)),
        kernel_name: None,
        first_seen: at(0.0),
        state_since: at(0.0),
        missed: 0,
    }
}

const FAILED: Change = Change::Failed { from: Some(QpState::RTS) };
const GAVE_UP: WireKind = WireKind::GaveUp { psn: 7, tries: 7, silence: Duration::from_secs(4) };

fn nccl(status: u32, code: u32) -> String {
    format!(
        "host-a:4242:4300 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.12<52184> with error \
         {status}, opcode 0, len 0, vendor err {code} (Send) localGid ::ffff:10.0.0.11 remoteGid \
         ::ffff:10.0.0.12"
    )
}

fn nccl_with_qp(qp: u32) -> String {
    format!(
        "host-a:4242:4300 [0] transport/net_ib/p2p.cc:854 NCCL WARN NET/IB: Got CQE with error (devIndex=0, \
         req=0x7f0000001000, comm=0x7f0000002000 (send), wr_id=66, qp_num={qp})\n\
         host-a:4242:4300 [0] transport/net_ib/p2p.cc:688 NCCL WARN NET/IB: Got completion from peer \
         10.0.0.12<52184> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129  \
         localGid ::ffff:10.0.0.11 remoteGids::ffff:10.0.0.12 hca mlx5_3"
    )
}

#[test]
fn log_netlink_and_packets_of_one_queue_pair() {
    let mut host = Host::new();
    host.wire(0.0, GAVE_UP, (Some(0x45), 0x1045));
    host.log(0.4, "job", &nccl_with_qp(0x45));
    host.netlink(1.0, FAILED, &qp(0x45, 0x1045, 777));
    assert!(host.due(1.2).is_empty());
    let group = host.one(2.0);
    assert_eq!(group.sources(), ["log", "wire", "netlink"]);
    let failure = group.failure();
    assert_eq!((failure.status, failure.outcome), (Some(WcStatus::RETRY_EXC), Outcome::Died));
    assert_eq!(failure.vendor.map(|code| code.value), Some(0x81));
    assert_eq!((failure.local_qp, failure.peer_qp), (Some(0x45), Some(0x1045)));
    assert_eq!(failure.peer_ip, "10.0.0.12".parse().ok());
    assert_eq!(failure.device.as_deref(), Some("mlx5_3"));
    assert_eq!(failure.interface.as_deref(), Some("eth0"));
    let local = group.local();
    assert_eq!((local.pid, local.comm.as_deref()), (Some(777), Some("trainer")));
    assert_eq!((group.time(), group.secondaries()), (Some(at(0.0)), 2));
    assert_eq!(group.timeline().len(), 3);
    assert!(host.due(100.0).is_empty());
}

#[test]
fn a_line_without_a_number_finds_its_queue_pair_by_process_or_address() {
    let mut host = Host::new();
    host.log(0.0, "job", &nccl(12, 129));
    host.netlink(0.9, FAILED, &qp(0x45, 0x1045, 4242));
    host.netlink(0.9, FAILED, &qp(0x46, 0x1046, 99));
    let group = host.one(2.0);
    assert_eq!((group.local().qp, group.sources()), (Some(0x45), vec!["log", "netlink"]));

    let mut host = Host::new();
    host.wire(0.0, GAVE_UP, (None, 0x1045));
    host.log(0.5, "job", &nccl(12, 129));
    let group = host.one(2.5);
    assert_eq!((group.peer().qp, group.sources()), (Some(0x1045), vec!["log", "wire"]));
}

#[test]
fn a_process_with_several_dead_queue_pairs_does_not_say_which() {
    let mut host = Host::new();
    host.log(0.0, "job", &nccl(12, 129));
    host.netlink(0.9, FAILED, &qp(0x45, 0x1045, 4242));
    host.netlink(0.9, FAILED, &qp(0x46, 0x1046, 4242));
    let group = host.one(2.0);
    assert_eq!((group.local().qp, group.sources()), (None, vec!["log"]));
    assert_eq!(host.due(7.0).len(), 2, "they stay in ERR");
}

#[test]
fn flushes_belong_to_the_error_before_or_after_them() {
    let mut host = Host::new();
    host.log(0.0, "job", &nccl(5, 249));
    host.log(0.5, "job", &nccl(12, 129));
    host.log(0.6, "job", &[nccl(5, 249), nccl(5, 249)].join("\n"));
    let group = host.one(2.1);
    assert_eq!((group.failure().status, group.secondaries()), (Some(WcStatus::RETRY_EXC), 3));
    assert!(!group.failure().is_flush_only);
    host.log(9.0, "job", &nccl(5, 249));
    assert!(host.due(15.0).is_empty(), "what comes later is only counted");
}

#[test]
fn flushes_alone_wait_longer_and_say_so() {
    let mut host = Host::new();
    host.log(0.0, "job", &nccl(5, 249));
    assert!(host.due(4.0).is_empty());
    let group = host.one(5.0);
    let failure = group.failure();
    assert!(failure.is_flush_only);
    assert_eq!((failure.status, failure.outcome), (Some(WcStatus::WR_FLUSH), Outcome::Died));
    // The reason comes late: the same failure, told again.
    host.log(6.0, "job", &nccl(12, 129));
    let again = host.one(6.1);
    assert_eq!((again.number(), again.revision()), (group.number(), 1));
    assert_eq!(again.failure().status, Some(WcStatus::RETRY_EXC));
}

#[test]
fn lines_of_both_hosts() {
    let theirs = "host-b:99:100 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.11<41000> with error 5, \
                  opcode 0, len 0, vendor err 249 (Recv) localGid ::ffff:10.0.0.12 remoteGid \
                  ::ffff:10.0.0.11";
    let mut host = Host::new();
    host.log(0.0, "job", theirs);
    host.log(0.3, "job", &nccl(12, 129));
    let group = host.one(2.0);
    assert_eq!((group.local().pid, group.secondaries()), (Some(4242), 1));
    assert_eq!(group.peer().ip, "10.0.0.12".parse().ok());
}

#[test]
fn a_process_that_ends_is_no_failure() {
    let mut host = Host::new();
    host.netlink(0.0, FAILED, &qp(0x45, 0x1045, 777));
    host.netlink(2.0, Change::Vanished, &qp(0x45, 0x1045, 777));
    assert!((0..100).all(|second| host.due(f64::from(second)).is_empty()));
    assert_eq!(host.0.counts().teardowns, 1);
    assert!(host.0.failed.is_empty());
}

#[test]
fn what_probes_in_the_kernel_tell() {
    let told = |seconds, what, comm: Option<&str>| {
        Signal::Bpf(Box::new(QpFailure {
            time: at(seconds),
            device: "mlx5_3".into(),
            lqpn: 0x45,
            what,
            before: Some(QpState::RTS),
            settings: QpSettings { rqpn: Some(0x1045), ..QpSettings::default() },
            pid: comm.map(|_| 777),
            comm: comm.map(Into::into),
        }))
    };
    // A program that sets its queue pair to ERR and destroys it.
    let mut host = Host::new();
    host.0.take(told(0.0, QpFailureKind::ModifiedToErr, Some("ib_write_bw")), at(0.0));
    host.0.take(told(0.1, QpFailureKind::Destroyed, Some("ib_write_bw")), at(0.1));
    assert!((0..100).all(|second| host.due(f64::from(second)).is_empty()));
    assert_eq!(host.0.counts().teardowns, 1);
    // It does so because of an error, which its line does not say of which queue pair.
    let mut host = Host::new();
    host.log(0.0, "-", " Failed status 12: wr_id 0 syndrom 0x81");
    host.0.take(told(0.0, QpFailureKind::ModifiedToErr, Some("ib_write_bw")), at(0.0));
    host.0.take(told(0.1, QpFailureKind::Destroyed, Some("ib_write_bw")), at(0.1));
    let group = host.one(2.0);
    assert_eq!((group.sources(), group.local().qp), (vec!["log", "bpf"], Some(0x45)));
    assert_eq!(group.local().comm.as_deref(), Some("ib_write_bw"));
    // Netlink lists it, too.
    let mut host = Host::new();
    host.log(0.0, "job", &nccl(12, 129).replace("4242", "777"));
    host.0.take(told(0.0, QpFailureKind::ModifiedToErr, Some("trainer")), at(0.0));
    host.netlink(0.9, FAILED, &qp(0x45, 0x1045, 777));
    assert_eq!(host.one(2.0).sources(), ["log", "bpf", "netlink"]);
    let mut host = Host::new();
    host.0.take(told(0.0, QpFailureKind::ModifiedToErr, Some("trainer")), at(0.0));
    host.netlink(0.9, FAILED, &qp(0x45, 0x1045, 777));
    let group = host.one(7.0);
    assert_eq!((group.sources().len(), group.revision()), (2, 0));
    assert!(host.due(9.0).is_empty());
    // The driver found an error.
    let mut host = Host::new();
    host.0.take(told(0.0, QpFailureKind::DriverError, None), at(0.0));
    host.netlink(0.9, FAILED, &qp(0x45, 0x1045, 777));
    let group = host.one(2.0);
    assert_eq!((group.sources(), group.failure().outcome), (vec!["bpf", "netlink"], Outcome::Died));
    assert_eq!((group.local().pid, group.peer().qp), (Some(777), Some(0x1045)));
    host.0.take(told(5.0, QpFailureKind::AsyncEvent(3), None), at(5.0));
    host.0.take(told(6.0, QpFailureKind::Destroyed, None), at(6.0));
    let again = host.one(9.0);
    assert_eq!((again.number(), again.revision(), again.failure().blamed.len()), (1, 1, 1));
    // That the last request was reached is part of normal work.
    let mut host = Host::new();
    host.0.take(told(0.0, QpFailureKind::AsyncEvent(16), None), at(0.0));
    host.0.take(told(0.0, QpFailureKind::AsyncEvent(3), None), at(0.0));
    let failure = host.one(4.0).failure();
    assert_eq!(failure.blamed, [(Cause::AccessError, Some(at(0.0)))]);
}

/// Seen in the lab: what came first spoke for the responder, what said more for the requester.
#[test]
fn the_side_of_the_primary_is_the_near_one_whatever_came_before() {
    let mut host = Host::new();
    let own = |time, device: &str, lqpn, rqpn, what| {
        Signal::Bpf(Box::new(QpFailure {
            time: at(time),
            device: device.into(),
            lqpn,
            what,
            before: Some(QpState::RTS),
            settings: QpSettings { rqpn: Some(rqpn), ..QpSettings::default() },
            pid: None,
            comm: None,
        }))
    };
    host.0.take(own(0.0, "mlx5_4", 98, 48, QpFailureKind::AsyncEvent(3)), at(0.0));
    host.0.take(own(0.01, "mlx5_3", 48, 98, QpFailureKind::DriverError), at(0.01));
    host.log(
        0.03,
        "job",
        &nccl(10, 136).replace("::ffff:10.0.0.12", "::ffff:10.0.0.12 hca mlx5_3"),
    );
    host.wire(0.1, WireKind::FatalNak { code: "remote_access_error", psn: 7 }, (None, 98));
    let group = host.one(3.2);
    assert_eq!((group.local().qp, group.peer().qp), (Some(48), Some(98)), "{group:#?}");
    assert_eq!(group.device(), Some("mlx5_3"));
}

#[test]
fn a_queue_pair_that_stays_in_error_is_one() {
    let mut host = Host::new();
    host.netlink(0.0, Change::Failed { from: None }, &qp(0x44, 0x1044, 777));
    host.netlink(0.0, FAILED, &qp(0x45, 0x1045, 777));
    assert!(host.due(4.9).is_empty());
    let group = host.one(5.0);
    assert_eq!((group.sources(), group.local().qp), (vec!["netlink"], Some(0x45)));
    assert!(host.due(60.0).is_empty(), "the other one was there when the collector started");
    // One that was made and failed between two sweeps.
    host.netlink(61.0, Change::Appeared, &qp(0x46, 0x1046, 777));
    host.netlink(61.0, Change::Failed { from: None }, &qp(0x46, 0x1046, 777));
    assert_eq!(host.one(66.0).local().qp, Some(0x46));
}

#[test]
fn a_number_that_is_given_anew_is_another_queue_pair() {
    let mut host = Host::new();
    host.log(0.0, "job", &nccl_with_qp(0x45));
    let first = host.one(2.0);
    host.netlink(10.0, Change::Vanished, &qp(0x45, 0x1045, 777));
    host.netlink(20.0, Change::Appeared, &qp(0x45, 0x1045, 777));
    host.log(30.0, "job", &nccl_with_qp(0x45));
    let second = host.one(32.0);
    assert_ne!(first.number(), second.number());
    // Without that it is told about again.
    host.log(40.0, "job", &nccl_with_qp(0x45));
    assert!(host.due(42.0).is_empty());
}

#[test]
fn a_status_that_names_nothing_belongs_to_the_only_queue_pair_in_trouble() {
    const PERFTEST: &str = " Failed status 12: wr_id 0 syndrom 0x81";
    let mut host = Host::new();
    host.wire(0.0, GAVE_UP, (None, 0x11));
    host.log(0.5, "-", PERFTEST);
    let group = host.one(3.0);
    assert_eq!((group.sources(), group.peer().qp), (vec!["log", "wire"], Some(0x11)));
    let mut host = Host::new();
    host.wire(0.0, GAVE_UP, (None, 0x11));
    host.wire(0.0, GAVE_UP, (None, 0x12));
    host.log(0.5, "-", PERFTEST);
    assert_eq!(host.due(4.0).len(), 3, "nobody knows of which");
    let mut host = Host::new();
    host.wire(0.0, WireKind::NotReady { psn: 1, refusals: 7 }, (None, 0x11));
    host.log(0.5, "-", PERFTEST);
    assert_eq!(host.due(4.0).len(), 2, "packets show another error");
}

#[test]
fn one_that_stalls_is_told_once_until_it_dies() {
    let stalled = |tries| WireKind::Stalled { psn: 7, tries, age: Duration::from_secs(9) };
    let mut host = Host::new();
    host.wire(0.0, stalled(8), (None, 0x11));
    let group = host.one(3.0);
    assert_eq!(group.failure().outcome, Outcome::Stalled);
    for second in 4..200 {
        host.wire(f64::from(second), stalled(second as u32 * 2), (None, 0x11));
        assert!(host.due(f64::from(second)).is_empty());
    }
    host.log(200.0, "job", &nccl(12, 129));
    let died = host.one(200.5);
    assert_eq!((died.number(), died.revision()), (group.number(), 1));
    assert_eq!((died.failure().outcome, died.secondaries()), (Outcome::Died, 1));
    assert!(died.timeline()[0].what.contains("398 times"), "{:?}", died.timeline());
}

#[test]
fn ports_that_went_down_before() {
    const EVENT: &str =
        "host-a:4242:9 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)";
    let mut host = Host::new();
    host.log(0.0, "job", EVENT);
    host.log(90.0, "job", &nccl(12, 129));
    let group = host.one(92.0);
    let failure = group.failure();
    assert_eq!(failure.blamed, [(Cause::LinkFlap, Some(at(0.0)))]);
    assert!(group.timeline()[0].what.starts_with("port error"), "{:?}", group.timeline());
    assert_eq!((group.time(), group.secondaries()), (Some(at(90.0)), 0));
    // Another device of the host.
    host.log(100.0, "job", &nccl_with_qp(0x45));
    assert_eq!(host.one(102.0).failure().blamed, []);
    // Too long ago.
    host.log(1000.0, "job", &nccl(12, 129));
    assert_eq!(host.one(1002.0).timeline().len(), 1);
}

#[test]
fn two_errors_of_a_process_are_two_failures() {
    let mut host = Host::new();
    host.log(0.0, "job", &[nccl(12, 129), nccl(10, 136)].join("\n"));
    let other_peer = nccl(12, 129).replace("10.0.0.12", "10.0.0.13");
    let other_connection = nccl(12, 129).replace("52184", "52185");
    host.log(0.1, "job", &[other_peer, other_connection].join("\n"));
    assert_eq!(host.due(2.0).len(), 4);
}

#[test]
fn everything_is_bounded() {
    let limits = CorrelatorLimits {
        max_waiting: 8,
        max_failed: 8,
        max_groups: 8,
        max_signals: 4,
        max_context: 4,
        max_ready: 32,
        ..CorrelatorLimits::default()
    };
    let mut host = Host(Correlator::new(limits));
    for n in 0..100 {
        host.log(0.0, "job", &nccl_with_qp(n));
        host.netlink(0.0, FAILED, &qp(1000 + n, n, 777));
        host.log(
            0.0,
            "job",
            "h:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)",
        );
    }
    let groups = host.0.finish();
    assert_eq!(groups.len(), 32);
    let counts = host.0.counts();
    assert_eq!((counts.signals, counts.failures), (300, 100));
    assert_eq!((counts.context, counts.context_left_out), (100, 96));
    assert_eq!((counts.lost, counts.failed_left_out), (68, 92));
    assert!(counts.early >= 88 && counts.closed_early >= 88, "{counts:?}");
    for _ in 0..20 {
        host.log(0.0, "job", &nccl_with_qp(7));
    }
    let group = host.0.finish().remove(0);
    assert_eq!((group.signals().count(), group.secondaries()), (4, 19));
}

mod order {
    //! Whatever the order in which signals of two failures come.

    use proptest::prelude::*;

    use super::*;

    /// What two failures have in common.
    #[derive(Clone, Copy, Debug)]
    enum Shared {
        Nothing,
        Process,
        ProcessAndPeer,
    }

    /// Signals of the failure of one queue pair. Most name its number, and it its peer's; some name only what it may
    /// share with the other.
    fn failure(n: u32, shared: Shared) -> Vec<Signal> {
        let (near, far) = (0x100 + n, 0x200 + n);
        let pid = if matches!(shared, Shared::Nothing) { 4000 + n } else { 4242 };
        let peer = if matches!(shared, Shared::ProcessAndPeer) { 12 } else { 20 + n };
        let peer = format!("10.0.0.{peer}");
        let lines = |text: String| {
            let text = text.replace("4242", &pid.to_string()).replace("10.0.0.12", &peer);
            text.replace("52184", &format!("{}", 50000 + n))
        };
        let mut trouble = seen(0.1, GAVE_UP, (Some(near), far));
        if let Signal::Wire(trouble) = &mut trouble {
            trouble.responder = peer.parse().expect("an address");
        }
        let mut signals = vec![trouble, listed(0.9, FAILED, &qp(near, far, pid))];
        signals.extend(logged(0.2, "job", &lines(nccl_with_qp(near))));
        signals.extend(logged(0.3, "job", &lines(nccl(5, 249))));
        signals.extend(logged(0.4, "job", &lines(nccl(12, 129))));
        let kernel = format!("rdma_rxe: qp#{near} moved to error state");
        signals.extend(logged(0.5, "kmsg", &kernel));
        // Nothing but the process.
        let flush = "host-a:4242:4300 [0] NCCL WARN NET/IB : Got completion with error 5, opcode 0, len 0, \
                     vendor err 249";
        signals.extend(logged(0.6, "job", &lines(flush.to_owned())));
        signals
    }

    /// The number that a signal names.
    fn number(signal: &Signal) -> Option<u32> {
        match signal {
            Signal::Log { record, .. } => record.local.qp,
            Signal::Netlink(event) => Some(event.qp.lqpn),
            Signal::Bpf(failure) => Some(failure.lqpn),
            Signal::Wire(trouble) => trouble.requester_qp,
        }
    }

    /// The port of the connection that a line names.
    fn port(signal: &Signal) -> Option<u32> {
        let Signal::Log { record, .. } = signal else { return None };
        record.peer.port.map(u32::from)
    }

    /// What a group is about, without the order in which it was told.
    fn content(group: &Group) -> (Option<u32>, Option<u32>, Vec<String>, u64) {
        let mut words: Vec<_> = group.timeline().into_iter().map(|entry| entry.what).collect();
        words.sort();
        (group.local().qp, group.peer().qp, words, group.secondaries())
    }

    fn groups(signals: Vec<Signal>) -> Vec<Group> {
        let mut correlator = Correlator::new(CorrelatorLimits::default());
        for signal in signals {
            correlator.take(signal, at(1.0));
        }
        let mut groups = correlator.due(at(3.0));
        groups.extend(correlator.due(at(7.0)));
        groups
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn two_failures_never_mix(
            order in Just((0..100_usize).collect::<Vec<_>>()).prop_shuffle(),
            kept in prop::collection::vec(prop::bool::weighted(0.8), 100),
            shared in prop::sample::select(vec![
                Shared::Nothing,
                Shared::Process,
                Shared::ProcessAndPeer,
            ]),
        ) {
            let all: Vec<_> =
                failure(1, shared).into_iter().chain(failure(2, shared)).collect();
            let signals = || {
                let kept = all.iter().zip(&kept).filter(|(_, is_kept)| **is_kept);
                kept.map(|(signal, _)| signal.clone())
            };
            let in_order: Vec<_> = groups(signals().collect()).iter().map(content).collect();
            let mut keyed: Vec<_> = order.into_iter().zip(signals()).collect();
            keyed.sort_by_key(|(key, _)| *key);
            let shuffled = groups(keyed.into_iter().map(|(_, signal)| signal).collect());
            for group in &shuffled {
                for name in [number, port] {
                    let mut names: Vec<_> = group.signals().filter_map(name).collect();
                    names.sort_unstable();
                    names.dedup();
                    prop_assert!(names.len() <= 1, "{names:x?} in one: {:#?}", content(group));
                }
                let (near, far) = (group.local().qp, group.peer().qp);
                if let (Some(near), Some(far)) = (near, far) {
                    prop_assert_eq!(near + 0x100, far, "ends of one queue pair");
                }
            }
            let contents: Vec<_> = shuffled.iter().map(content).collect();
            prop_assert_eq!(contents, in_order);
        }
    }

    #[test]
    fn two_whole_failures_are_two() {
        for shared in [Shared::Nothing, Shared::Process, Shared::ProcessAndPeer] {
            let signals = failure(1, shared).into_iter().chain(failure(2, shared));
            let groups = groups(signals.collect());
            let numbers: Vec<_> = groups.iter().map(|group| group.local().qp).collect();
            assert_eq!(numbers, [Some(0x101), Some(0x102)], "{shared:?}");
        }
    }
}

mod whole {
    //! Whatever comes, in any order and at any time: nothing is lost.

    use proptest::prelude::*;

    use super::*;

    /// Something that an error source may say.
    fn any_signal() -> impl Strategy<Value = (u8, u32, u32, u8)> {
        (0..9_u8, 0..4_u32, 0..3_u32, 0..6_u8)
    }

    fn signals(seconds: f64, (kind, number, pid, other): (u8, u32, u32, u8)) -> Vec<Signal> {
        let peer = |text: String| {
            let text = text.replace("10.0.0.12", &format!("10.0.0.{}", 12 + number));
            text.replace("4242", &format!("{}", 4242 + pid))
        };
        let statuses = [12, 5, 10, 13, 4, 5];
        let status = statuses[usize::from(other)];
        let stalled = WireKind::Stalled { psn: 7, tries: 9, age: Duration::from_secs(9) };
        match kind {
            0 | 1 => logged(seconds, "job", &peer(nccl(status, 129))),
            2 => logged(seconds, "job", &peer(nccl_with_qp(number))),
            3 => logged(seconds, "-", " Failed status 12: wr_id 0 syndrom 0x81"),
            4 => logged(seconds, "kmsg", &format!("rdma_rxe: qp#{number} moved to error state")),
            5 => vec![listed(seconds, FAILED, &qp(number, number, 4242 + pid))],
            6 => vec![listed(seconds, Change::Vanished, &qp(number, number, 4242 + pid))],
            7 => vec![seen(seconds, GAVE_UP, ((pid > 0).then_some(number), number))],
            _ => vec![seen(seconds, stalled, (None, number))],
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_signal_is_in_one_failure(
            story in prop::collection::vec((any_signal(), 0..2000_u32, any::<bool>()), 1..40),
        ) {
            let mut correlator = Correlator::new(CorrelatorLimits::default());
            let mut seconds = 0.0;
            let (mut logged, mut told) = (0, Vec::new());
            for (signal, pause, is_due) in story {
                for signal in signals(seconds, signal) {
                    logged += u64::from(matches!(signal, Signal::Log { .. }));
                    correlator.take(signal, at(seconds));
                }
                if is_due {
                    told.extend(correlator.due(at(seconds)));
                }
                seconds += f64::from(pause) / 1000.0;
            }
            told.extend(correlator.due(at(seconds + 6.0)));
            let lines = |group: &Group| {
                let logs = group.signals().filter(|it| matches!(it, Signal::Log { .. }));
                logs.count() as u64
            };
            // Each is in the failure as it is known now; none can be too old to be there.
            prop_assert!(seconds < 80.0);
            if seconds < 50.0 {
                prop_assert_eq!(correlator.groups.iter().map(lines).sum::<u64>(), logged);
                prop_assert!(correlator.waiting.is_empty());
            }
            let mut latest = std::collections::BTreeMap::new();
            for group in told {
                let before = latest.insert(group.number(), group.revision());
                prop_assert_eq!(before.map_or(0, |before| before + 1), group.revision());
            }
            prop_assert_eq!(latest.len() as u64, correlator.counts().failures);
        }
    }
}
