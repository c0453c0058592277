//! A job's log of any size: every failure is found, in little memory. `cargo xtask test nightly` reads 2 GiB.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use roce_collector::capture::Timestamp;
use roce_collector::diagnosis::{Case, diagnose};
use roce_collector::explain::{DecoderLimits, Scanner};
use roce_collector::incident::{Correlator, CorrelatorLimits, Incident, Signal};

/// Bytes, unless `ROCE_LOG_BYTES` says otherwise.
const BYTES: u64 = 32 << 20;
const FAILURES: u64 = 10;
/// Bytes handed over at a time, as `roce-trace explain` does.
const PIECE: usize = 256 * 1024;
/// Of the whole test program.
const MAX_MEMORY_KIB: u64 = 100 * 1024;

/// What NCCL says while all is well, some of it with words of errors.
const INFO: [&str; 6] = [
    "node-7:4242:4300 [3] NCCL INFO Channel 05/0 : 12[4] -> 20[4] [send] via NET/IB/4/GDRDMA\n",
    "node-7:4242:4300 [3] NCCL INFO NET/IB: Dev 4 Port 1 qpn 5121 mtu 5 GID 3 (0/B00000AFFFF0000)\n",
    "node-7:4242:4300 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.11<0>\n",
    "node-7:4242:4300 [3] NCCL INFO AllReduce: opCount 3b2 sendbuff 0x7f00 recvbuff 0x7f00 count 1048576 datatype 9\n",
    "node-7:4242:4300 [3] NCCL INFO NCCL_IB_RETRY_CNT set by environment to 7.\n",
    "node-7:4242:4300 [3] NCCL INFO comm 0x55 rank 3 nranks 64 cudaDev 3 busId 5d000 - Init COMPLETE, error 0\n",
];

/// A failure as NCCL 2.29.7 tells it: two lines, and flushes of other threads' requests.
fn failure(n: u64) -> String {
    let line = |status: &str, code: u32| {
        format!(
            "node-7:4242:4300 [3] NCCL WARN NET/IB: Got completion from peer 10.0.0.12<52184> with status={status} \
             opcode=IBV_WC_RDMA_WRITE(1) vendor_err={code}  localGid ::ffff:10.0.0.11 remoteGids::ffff:10.0.0.12 \
             hca mlx5_3\n"
        )
    };
    let number = format!(
        "node-7:4242:4300 [3] NCCL WARN NET/IB: Got CQE with error (devIndex=0, req=0x7f0000001000, \
         comm=0x7f0000002000 (send), wr_id=66, qp_num={})\n",
        5121 + n
    );
    let flush = line("IBV_WC_WR_FLUSH_ERR(5)", 249);
    [number, line("IBV_WC_RETRY_EXC_ERR(12)", 129), flush.repeat(3)].concat()
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn ten_failures_in_a_large_log() {
    let wanted =
        std::env::var("ROCE_LOG_BYTES").map(|bytes| bytes.parse().expect("a number of bytes"));
    let wanted: u64 = wanted.unwrap_or(BYTES);
    let piece = INFO.concat().repeat(PIECE / INFO.concat().len());
    let pieces = wanted.div_ceil(piece.len() as u64).max(FAILURES);
    let source: Arc<str> = "job.log".into();
    let mut scanner = Scanner::new(DecoderLimits::default());
    let mut correlator = Correlator::new(CorrelatorLimits::default());
    let mut take = |record| {
        let signal = Signal::Log { source: Arc::clone(&source), record: Box::new(record) };
        correlator.take(signal, Timestamp::default());
    };
    let start = Instant::now();
    for n in 0..pieces {
        scanner.feed(piece.as_bytes(), &mut take);
        if n % (pieces / FAILURES) == 0 && n / (pieces / FAILURES) < FAILURES {
            scanner.feed(failure(n / (pieces / FAILURES)).as_bytes(), &mut take);
        }
    }
    scanner.finish(&mut take);
    let groups = correlator.finish();
    let time = start.elapsed();
    let incidents: Vec<_> = groups
        .iter()
        .map(|group| {
            let case = Case { failure: group.failure(), ..Case::default() };
            Incident::of(group, &case, &diagnose(&case), Vec::new())
        })
        .collect();
    let (bytes, peak) = (scanner.totals().bytes, peak_kib());
    println!(
        "{} lines, {} MiB in {:.1} s, {:.0} MiB/s, {} incidents, at most {} MiB of memory",
        scanner.totals().lines,
        bytes >> 20,
        time.as_secs_f64(),
        bytes as f64 / time.as_secs_f64() / f64::from(1 << 20),
        incidents.len(),
        peak >> 10,
    );
    assert!(bytes >= wanted);
    assert_eq!(incidents.len() as u64, FAILURES);
    for (n, incident) in (0..).zip(&incidents) {
        assert_eq!(incident.local.qp, Some(5121 + n));
        assert_eq!(incident.status.as_ref().map(|status| status.code), Some(12));
        assert_eq!(incident.secondaries, 3, "flushes of the same failure");
    }
    assert!(peak < MAX_MEMORY_KIB, "{peak} KiB");
}
