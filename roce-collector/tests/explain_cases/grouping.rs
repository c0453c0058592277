//! Which lines are one failure.

use roce_collector::explain::{Cause, Decoder, DecoderLimits, Severity, WcStatus};

use super::{decode, decode_one};

fn nccl(process: &str, peer: &str, status: u32, code: u32) -> String {
    format!(
        "{process} [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer {peer} with error {status}, \
         opcode 0, len 0, vendor err {code}"
    )
}

#[test]
fn flushed_work_belongs_to_the_error_before_it() {
    let mut log = vec![nccl("h:1:2", "10.0.0.12<5>", 12, 129)];
    for _ in 0..1000 {
        log.push("h:1:2 [0] NCCL INFO transport/net.cc:1302 -> 6".to_owned());
        log.push(nccl("h:1:2", "10.0.0.12<5>", 5, 249));
    }
    let record = decode_one(&log.join("\n"));
    assert_eq!((record.lines, record.secondaries), (1001, 1000));
    assert_eq!((record.status, record.severity()), (Some(WcStatus::RETRY_EXC), Severity::Error));
    assert!(record.raw.len() <= 4096);
}

#[test]
fn flushed_work_alone_is_secondary_and_counted() {
    let log = [nccl("h:1:2", "10.0.0.12<5>", 5, 249), nccl("h:1:2", "10.0.0.12<5>", 5, 249)];
    let record = decode_one(&log.join("\n"));
    assert_eq!((record.lines, record.secondaries), (2, 2));
    assert_eq!(record.severity(), Severity::Secondary);
    assert!(record.meaning().contains("look for the first error on this host or on the peer"));
}

#[test]
fn other_processes_peers_and_statuses_are_other_failures() {
    let log = [
        nccl("h:1:2", "10.0.0.12<5>", 12, 129),
        nccl("h:9:2", "10.0.0.12<5>", 12, 129),
        nccl("h:1:2", "10.0.0.13<5>", 12, 129),
        nccl("h:1:2", "10.0.0.12<6>", 5, 249),
        nccl("h:1:2", "10.0.0.12<5>", 10, 136),
    ];
    assert_eq!(decode(log.iter().map(String::as_str)).len(), 5);
}

#[test]
fn the_same_message_again_is_the_same_failure_for_a_while() {
    let line = nccl("h:1:2", "10.0.0.12<5>", 12, 129);
    let record = decode_one(&format!("{line}\nsomething\n{line}"));
    assert_eq!((record.lines, record.secondaries), (2, 0));
    let far = [line.clone(), "something\n".repeat(40), line.clone()].join("\n");
    assert_eq!(decode(far.lines()).len(), 2, "far apart in the log");
    let later = format!("2026-11-29T12:00:00Z {line}\n2026-11-29T12:05:00Z {line}");
    assert_eq!(decode(later.lines()).len(), 2, "far apart in time");
    let nameless = " Failed status 12: wr_id 0 syndrom 0x81";
    assert_eq!(decode([nameless, nameless]).len(), 2, "two runs of a program");
}

#[test]
fn lines_of_many_ranks_in_between() {
    let part = |rank: u32, line: &str| {
        format!("[1,{rank}]<stderr>:h{rank}:{rank}:7 [0] NCCL WARN NET/IB: Got {line}")
    };
    let cqe = "CQE with error (devIndex=0, req=0x1, comm=0x2 (send), wr_id=66, qp_num=";
    let done = "completion from peer 10.0.0.12<5> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 ";
    let log = [
        part(1, &format!("{cqe}101)")),
        part(2, &format!("{cqe}102)")),
        part(2, done),
        part(3, &format!("{cqe}103)")),
        part(1, done),
    ];
    let records = decode(log.iter().map(String::as_str));
    let found: Vec<_> = records
        .iter()
        .map(|it| (it.rank.as_deref(), it.local.qp, it.lines, it.status.is_some()))
        .collect();
    let expected = [
        (Some("1,1"), Some(101), 2, true),
        (Some("1,2"), Some(102), 2, true),
        (Some("1,3"), Some(103), 1, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn syndromes_of_the_kernel_by_the_thousand() {
    let pair = "[ 4929.6] infiniband rocep33s0f0: mlx5_poll_one:527:(pid 0): Responder error cqe on cqn 0x406:\n\
                [ 4929.6] infiniband rocep33s0f0: mlx5_poll_one:530:(pid 0): syndrome 0x5, vendor syndrome 0xf9\n";
    let record = decode_one(&pair.repeat(1000));
    assert_eq!((record.lines, record.secondaries), (2000, 1000));
    assert_eq!(record.device.as_deref(), Some("rocep33s0f0"));
    assert_eq!(record.time_text.as_deref(), Some("4929.6"));
}

#[test]
fn flushed_work_of_programs_that_name_little() {
    let spdk = |status: &str, request: u32| {
        format!(
            "[2020-08-05 15:08:46.450456] rdma.c:3918:nvmf_rdma_poller_poll: *ERROR*: Error on CQ 0x7fb64c021d80, \
             request 0x{request}, type 2, status: {status}"
        )
    };
    let mut log = vec![spdk("(12): transport retry counter exceeded", 1)];
    log.extend((2..50).map(|n| spdk("(5): Work Request Flushed Error", n)));
    let record = decode_one(&log.join("\n"));
    assert_eq!((record.secondaries, record.queue.as_deref()), (48, Some("0x7fb64c021d80")));
    let nvmet = "nvmet_rdma: SEND for CQE 0x00000000a1b2c3d4 failed with status WR flushed (5).\n";
    let record = decode_one(&nvmet.repeat(1000));
    assert_eq!((record.secondaries, record.severity()), (1000, Severity::Secondary));
}

#[test]
fn a_real_report() {
    // The lines of NVIDIA/nccl issue 1698, with other addresses.
    let head = "node-2:353236:353423 [6]";
    let line = |port: u32, status: u32, code: u32| {
        format!(
            "{head} transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer 192.168.3.5<{port}> with \
             status={status} opcode=32552 len=32549 vendor err {code} (Recv) localGid ::ffff:192.168.6.3 \
             remoteGids::ffff:192.168.6.5 hca mlx5_10\n{head} NCCL INFO transport/net.cc:1362 -> 6\n{head} NCCL INFO \
             proxy.cc:726 -> 6\n{head} NCCL INFO proxy.cc:910 -> 6 [Progress Thread]\n\n"
        )
    };
    let log = [line(53908, 12, 129), line(50188, 12, 129), line(53908, 5, 249)].concat();
    let records = decode(log.lines());
    let found: Vec<_> =
        records.iter().map(|it| (it.line, it.peer.port, it.lines, it.secondaries)).collect();
    assert_eq!(found, [(1, Some(53908), 2, 1), (6, Some(50188), 1, 0)]);
    assert_eq!(records[0].peer_rdma_ip(), "192.168.6.5".parse().ok(), "not that of the bootstrap");
}

#[test]
fn the_port_before_the_error() {
    // C124: the link flapped 90 s before the retries ran out.
    let log = format!(
        "2026-11-29T12:00:00Z h:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)\n\
         2026-11-29T12:01:30Z {}",
        nccl("h:1:2", "10.0.0.12<5>", 12, 129)
    );
    let records = decode(log.lines());
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].cause().map(Cause::id), Some("link_flap"));
    let between = records[1].time.unwrap().since(records[0].time.unwrap());
    assert_eq!(between.as_secs(), 90);
}

#[test]
fn records_come_out_when_enough_lines_have_passed_or_too_many_wait() {
    let limits = DecoderLimits { hold_lines: 10, max_pending: 3, ..DecoderLimits::default() };
    let mut decoder = Decoder::new(limits);
    let line = |n: u64| nccl("h:1:2", &format!("10.0.0.12<{n}>"), 12, 129);
    assert_eq!(decoder.line(line(1).as_bytes(), 1).count(), 0);
    assert_eq!(decoder.line(b"nothing", 11).count(), 0);
    assert_eq!(decoder.line(b"nothing", 12).map(|record| record.line).collect::<Vec<_>>(), [1]);
    let out: Vec<_> =
        (13..18).flat_map(|n| decoder.line(line(n).as_bytes(), n).collect::<Vec<_>>()).collect();
    assert_eq!(out.iter().map(|record| record.line).collect::<Vec<_>>(), [13, 14]);
    assert_eq!(decoder.pending(), 3);
    assert_eq!(decoder.finish().count(), 3);
}
