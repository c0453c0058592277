//! What became of PSNs, as the metrics and the flow list of the daemon say it.

use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use roce_collector::capture::CaptureReader;
use roce_collector::flow::{FlowReport, SequenceReport};
use roce_testkit::daemon::Daemon;
use roce_testkit::packet::{Aeth, Opcode};
use roce_testkit::replay::replay_timed;
use roce_testkit::scenario::Connection;
use roce_testkit::send::{Sender, allowed_cpus};

use super::lab::{Lab, PATIENCE, flows, is, metrics, read, sum, wait_for};

fn lab_capture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/lab");
    folder.join(format!("{name}.pcap.gz"))
}

/// Frames with the time since the first one.
fn timed(capture: &Path) -> Vec<(Duration, Vec<u8>)> {
    let mut reader = CaptureReader::open(capture).unwrap();
    let (mut frames, mut first) = (Vec::new(), None);
    while let Some(frame) = reader.next_frame().unwrap() {
        let time = frame.time.unwrap();
        frames.push((time.since(*first.get_or_insert(time)), frame.data.to_vec()));
    }
    frames
}

/// Figures of all flows, with timeouts among the go-back-N episodes: a replay is not exact to the
/// microsecond, so a silence may be told from none otherwise than in the file.
fn sums<'a>(reports: impl IntoIterator<Item = &'a FlowReport>) -> SequenceReport {
    let sequences = reports.into_iter().filter_map(FlowReport::sequence);
    fold(sequences.fold(SequenceReport::default(), |sum, more| sum.plus(&more)))
}

fn fold(report: SequenceReport) -> SequenceReport {
    let go_back_n_episodes = report.go_back_n_episodes + report.timeouts;
    SequenceReport { go_back_n_episodes, timeouts: 0, ..report }
}

/// The same from the metrics of the interface.
fn of_metrics(metrics: &BTreeMap<String, f64>) -> SequenceReport {
    let total = |name: &str| {
        let series: Vec<_> =
            metrics.iter().filter(|(series, _)| series.split('{').next() == Some(name)).collect();
        assert_eq!(series.len(), 1, "{name}: only ingress is attached");
        *series[0].1 as u64
    };
    fold(SequenceReport {
        lost: total("roce_lost_packets_total"),
        recovered: total("roce_recovered_packets_total"),
        unseen: total("roce_unseen_packets_total"),
        reordered: total("roce_reordered_packets_total"),
        open: total("roce_open_packets"),
        retransmitted: total("roce_retransmitted_packets_total"),
        retransmitted_bytes: total("roce_retransmitted_bytes_total"),
        tap_duplicates: total("roce_tap_duplicate_packets_total"),
        go_back_n_episodes: total("roce_go_back_n_episodes_total"),
        timeouts: total("roce_timeouts_total"),
    })
}

/// Waits until the metrics say so, for what waits for late packets is decided in a later sweep.
fn wait_for_sums(daemon: &Daemon<'_>, expected: &SequenceReport) -> Result<()> {
    let start = Instant::now();
    loop {
        let seen = of_metrics(&metrics(daemon)?);
        if seen == *expected {
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "{seen:?} instead of {expected:?}");
        thread::sleep(Duration::from_millis(200));
    }
}

fn replay(lab: &Lab, capture: &Path) {
    let frames = timed(capture);
    let count = frames.len() as u64;
    let sent = replay_timed(&lab.left, lab.veth.left_name(), frames, 1.0).unwrap();
    assert_eq!(sent.delivered(), count, "{sent:?}");
}

/// Loss, recovery, reordering and retries of real traffic: the scrape, the flow list and the capture file
/// say the same.
#[test]
fn root_scrapes_equal_what_is_read_of_the_capture() {
    let captures = [
        "loss1-write-v4.va",
        "loss1-write-v4.vb",
        "loss1-read-resp-v4.va",
        "loss1-read-resp-v4.vb",
        "reorder-write-v4.vb",
        "err-rnr-v4.vb",
        "hole-stream-v4.va",
    ];
    thread::scope(|scope| {
        for name in captures {
            scope.spawn(move || compare(name));
        }
    });
}

fn compare(name: &str) {
    let (lab, capture) = (Lab::new(), lab_capture(name));
    let daemon = lab.start(&["--direction", "ingress"]);
    let expected = read(&capture);
    replay(&lab, &capture);
    let packets: u64 = expected.iter().map(|flow| flow.packets).sum();
    wait_for(&daemon, packets as f64).unwrap_or_else(|error| panic!("{name}: {error}"));
    let sum_of_file = sums(&expected);
    assert_ne!(sum_of_file, SequenceReport::default(), "{name}");
    wait_for_sums(&daemon, &sum_of_file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let metrics = metrics(&daemon).unwrap();
    for family in ["roce_peer", "roce_qp"] {
        for (figure, expected) in
            [("lost", sum_of_file.lost), ("retransmitted", sum_of_file.retransmitted)]
        {
            is(sum(&metrics, &format!("{family}_{figure}_packets_total"), ""), expected);
        }
    }
    is(sum(&metrics, "roce_sequence_untracked_records", ""), 0);

    let live = flows(&daemon).unwrap().flows;
    assert_eq!(live.len(), expected.len(), "{name}");
    for read in &expected {
        let ends = (read.src, read.dst, read.dst_qp, &read.transport);
        let is_same =
            |flow: &&FlowReport| ends == (flow.src, flow.dst, flow.dst_qp, &flow.transport);
        let live = live.iter().find(is_same).unwrap_or_else(|| panic!("{name}: no {ends:?}"));
        let figures = |flow: &FlowReport| {
            let psn = flow.psn.map(|psn| (psn.first, psn.last, psn.sequence.map(fold)));
            (psn, flow.response_psn.map(fold), flow.answers, flow.cnps, flow.src_qp)
        };
        assert_eq!(figures(live), figures(read), "{name} {ends:?}");
        assert_eq!(live.reorder_psns, read.reorder_psns, "{name} {ends:?}");
        assert_eq!(live.go_back_psns, read.go_back_psns, "{name} {ends:?}");
    }
    println!("{name}: {sum_of_file:?}");
}

/// A sender that nobody answers: the gauge climbs, and the flow list says which PSN.
#[test]
fn root_a_retry_ladder_shows_while_nobody_answers() {
    let (lab, capture) = (Lab::new(), lab_capture("hole-send-retry7-v6.va"));
    let daemon = lab.start(&["--direction", "ingress"]);
    replay(&lab, &capture);
    let of_file = read(&capture);
    let tries = of_file.iter().filter_map(|flow| flow.retries).map(|retries| retries.tries).max();
    let tries = tries.expect("the capture has a sender that gave up");
    assert!(tries >= 7, "{tries}");
    let start = Instant::now();
    loop {
        let seen = sum(&metrics(&daemon).unwrap(), "roce_qp_retry_ladder", "");
        if (seen - f64::from(tries)).abs() < 0.5 {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "retry {seen} instead of {tries}");
        thread::sleep(Duration::from_millis(200));
    }
    let live = flows(&daemon).unwrap().flows;
    let retries = live.iter().filter_map(|flow| flow.retries).find(|it| !it.answered);
    assert_eq!(retries.map(|retries| retries.tries), Some(tries), "{live:#?}");
}

/// A sender that nobody answers any more: a warning, then an incident, with its last packets in a file.
#[test]
fn root_a_queue_pair_that_dies_is_warned_of_and_recorded() {
    let (lab, capture) = (Lab::new(), lab_capture("hole-stream-v4.va"));
    let folder = tempfile::tempdir().unwrap();
    let folder_name = folder.path().to_str().unwrap();
    let daemon = lab.start(&["--direction", "ingress", "--record", folder_name]);
    replay(&lab, &capture);
    let start = Instant::now();
    let file = loop {
        let mut entries = fs::read_dir(folder.path()).unwrap().flatten();
        if let Some(entry) = entries.find(|it| it.file_name().to_string_lossy().ends_with("pcapng"))
        {
            break entry.path();
        }
        assert!(start.elapsed() < PATIENCE, "nothing recorded: {}", daemon.output());
        thread::sleep(Duration::from_millis(200));
    };
    let incidents: serde_json::Value =
        serde_json::from_str(&daemon.get("/api/v1/incidents").unwrap().ok().unwrap()).unwrap();
    let incident = &incidents["incidents"][0];
    assert_eq!(incident["recording"].as_str(), file.to_str(), "{incidents:#}");
    // Metrics are those of the last sweep.
    while sum(&metrics(&daemon).unwrap(), "roce_recorder_incidents_total", "written") < 0.5 {
        assert!(start.elapsed() < PATIENCE, "not counted: {}", daemon.output());
        thread::sleep(Duration::from_millis(200));
    }

    let output = daemon.output();
    let place = |what: &str| output.find(what).unwrap_or_else(|| panic!("no {what:?}: {output}"));
    assert!(place("retry ladder") < place("incident:"), "{output}");
    // What is sent again and again: the packets of the last tries, and nothing that was in order.
    let retries = |flows: &[FlowReport]| -> u64 {
        flows.iter().filter_map(FlowReport::sequence).map(|psns| psns.retransmitted).sum()
    };
    let (sent, recorded) = (read(&capture), read(&file));
    let packets: u64 = recorded.iter().map(|flow| flow.packets).sum();
    assert!(packets <= retries(&sent) && packets >= retries(&sent) / 2, "{recorded:#?}");
}

/// Flows that leave the table, and the same flows again: no counter of the port or of the hosts goes back.
#[test]
fn root_counters_never_go_back_when_records_are_taken_out() {
    let (lab, capture) = (Lab::new(), lab_capture("loss1-write-v4.vb"));
    let daemon = lab.start(&["--direction", "ingress", "--flow-idle", "2s"]);
    let of_file = read(&capture);
    let lost = sums(&of_file).lost;
    let packets: u64 = of_file.iter().map(|flow| flow.packets).sum();
    let is_lasting = |name: &str| {
        let of_one_qp = name.starts_with("roce_qp_");
        !of_one_qp && name.split('{').next().is_some_and(|family| family.ends_with("_total"))
    };
    let mut before = BTreeMap::new();
    for round in 1..=2 {
        replay(&lab, &capture);
        wait_for(&daemon, (round * packets) as f64).unwrap();
        let start = Instant::now();
        loop {
            let now = metrics(&daemon).unwrap();
            for (name, value) in before.iter().filter(|(name, _): &(&String, _)| is_lasting(name)) {
                assert!(now.get(name) >= Some(value), "{name} was {value}, is {:?}", now.get(name));
            }
            let is_empty = sum(&now, "roce_flows{", "") < 0.5;
            before = now;
            if is_empty {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{}", daemon.output());
            thread::sleep(Duration::from_millis(200));
        }
        is(sum(&before, "roce_lost_packets_total", ""), round * lost);
        is(sum(&before, "roce_peer_lost_packets_total", ""), round * lost);
        is(sum(&before, "roce_collector_sequence_states", "used"), 0);
    }
}

/// Gaps in more flows than the kernel can look at: the others have no figures, rather than 0, and are counted.
#[test]
fn root_flows_without_room_for_their_psns_have_no_figures() {
    const FLOWS: u16 = 20;
    // A sixth of the flows that the tables are made for.
    const ROOM: u16 = 10;
    let lab = Lab::new();
    let daemon = lab.start(&["--direction", "ingress", "--max-flows", "64"]);
    let frames = (0..FLOWS).flat_map(|number| {
        let connection = Connection::ipv4(number);
        let write = |psn| connection.forward(Opcode::RC_RDMA_WRITE_MIDDLE).psn(psn).payload_len(64);
        [10, 11, 13].map(|psn| write(psn).build())
    });
    let frames: Vec<_> = frames.collect();
    lab.replay(&frames);
    wait_for(&daemon, frames.len() as f64).unwrap();
    let metrics = metrics(&daemon).unwrap();
    let (looked_at, refused) = (u64::from(ROOM), u64::from(FLOWS - ROOM));
    is(sum(&metrics, "roce_sequence_untracked_records", ""), refused);
    is(sum(&metrics, "roce_open_packets", ""), looked_at);
    is(sum(&metrics, "roce_collector_sequence_states", "used"), looked_at);
    is(sum(&metrics, "roce_collector_sequence_states", "free"), 0);
    let series = |name: &str| metrics.keys().filter(|key| key.starts_with(name)).count();
    assert_eq!(series("roce_qp_lost_packets_total"), usize::from(ROOM));
    assert_eq!(series("roce_qp_packets_total"), usize::from(FLOWS));
    let flows = flows(&daemon).unwrap().flows;
    let with_figures = flows.iter().filter(|flow| flow.sequence().is_some()).count();
    assert_eq!((flows.len(), with_figures), (usize::from(FLOWS), usize::from(ROOM)));
}

/// Runs the calling thread on `cpu` from now on.
fn move_to(cpu: usize) {
    // SAFETY: all bits zero is the empty set, and `CPU_SET` checks nothing but stays inside for CPUs that
    // the kernel named; the call reads the set that it is given.
    let moved = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    assert_eq!(moved, 0, "CPU {cpu}");
}

/// On veth the CPU that sends is the CPU whose programs run: packets of one flow that come from two CPUs in
/// turn may overtake each other, but none is lost, and none was missed by the tap.
#[test]
fn root_one_flow_from_two_cpus_in_turn_loses_nothing() {
    const PACKETS: u32 = 20_000;
    /// Packets between the answers, and by how many they are behind: no answer overtakes its request.
    const ANSWERED: u32 = 64;
    let cpus = allowed_cpus().unwrap();
    assert!(cpus.len() >= 2, "this test needs two CPUs, and may use {cpus:?}");
    let connection = Connection::ipv4(1);
    let write =
        |psn| connection.forward(Opcode::RC_RDMA_WRITE_MIDDLE).psn(psn).payload_len(64).build();
    let mut frames = Vec::new();
    for psn in 0..PACKETS {
        frames.push(write(psn));
        if psn % ANSWERED == 0 && psn >= 2 * ANSWERED {
            let ack = connection.backward(Opcode::RC_ACKNOWLEDGE).psn(psn - ANSWERED);
            frames.push(ack.aeth(Aeth::ack(1)).build());
        }
    }
    for hook in ["xdp", "xdp-generic", "tc"] {
        let lab = Lab::new();
        let daemon = lab.start(&["--hook", hook, "--direction", "ingress"]);
        let in_turn = frames.iter().enumerate().map(|(place, frame)| {
            move_to(cpus[place % 2]);
            frame
        });
        let play = || Sender::open(lab.veth.left_name())?.send_each(in_turn);
        let sent = lab.left.run(play).unwrap().unwrap();
        assert_eq!(sent.delivered(), frames.len() as u64, "{sent:?}");
        wait_for(&daemon, frames.len() as f64).unwrap();
        thread::sleep(Duration::from_secs(2));
        let seen = of_metrics(&metrics(&daemon).unwrap());
        let expected = SequenceReport { reordered: seen.reordered, ..SequenceReport::default() };
        assert_eq!(seen, expected, "--hook {hook}");
        println!("--hook {hook}: {} of {} packets were late", seen.reordered, frames.len());
    }
}
