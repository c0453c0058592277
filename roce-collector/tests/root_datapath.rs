//! The kernel programs, one frame at a time (`BPF_PROG_TEST_RUN`). Needs root: fails without.
//!
//! What the programs count must equal what the same parser and the same records count in user space,
//! for every frame that the scenarios and captures have.

use roce_collector::attach::Program;
use roce_collector::bpf::{Datapath, DatapathOptions, FlowTable, RecordState};
use roce_collector::capture::{CaptureReader, Frame, LinkType, TapLoss};
use roce_collector::flow::{RecordSnapshot, RecordTotals};
use roce_collector::read::Engine;
use roce_common::flow::{FlowKey, PsnSpace, WideKey};
use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;
use roce_testkit::packet::{Opcode, Packet};
use roce_testkit::scenario::{self, ManyFlows};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

const POLICY: MarkingPolicy = MarkingPolicy::DEFAULT;
const PASS: u32 = 2;
const NEXT: u32 = u32::MAX;

type Records = BTreeMap<String, RecordTotals>;

fn load(max_flows: u32, program: Program) -> Datapath {
    let options = DatapathOptions { max_flows, interfaces: 1, marking: POLICY, recorders: 0 };
    let mut datapath =
        Datapath::load(&options).expect("this test needs root and BPF: run it with sudo");
    datapath.verify(program).expect("the verifier accepts the program");
    datapath
}

fn name(key: &WideKey, tap: u8) -> String {
    let key = WideKey { tagged_qp: key.tagged_qp & 0x0fff_ffff | u32::from(tap) << 28, ..*key };
    format!("{key:?}")
}

fn add_table<K: FlowKey + Into<WideKey> + Debug>(table: &FlowTable<K>, records: &mut Records) {
    for index in 0..table.len() {
        table.settle(index);
        let RecordState { slot, cold, sequence } = table.read(index).expect("nobody else writes");
        if let Some(tag) = slot.key.tag() {
            let mut now = RecordSnapshot::of(&slot, &cold, &POLICY);
            if tag.has_psn_order() {
                let sequence = sequence.map(|state| state.totals);
                now = now.with_sequence(sequence.unwrap_or_default());
            }
            let mut totals = RecordTotals::default();
            totals.advance(&RecordSnapshot::default(), &now);
            let before = records.insert(format!("{:?}", slot.key.into()), totals);
            assert!(before.is_none(), "two records of {:?}", slot.key);
        }
    }
}

fn kernel_records(datapath: &Datapath) -> Records {
    let mut records = Records::new();
    add_table(&datapath.narrow, &mut records);
    add_table(&datapath.wide, &mut records);
    records
}

/// What user space counts for the same frames.
fn expected(frames: &[&Vec<u8>], tap: u8) -> (Records, TapCounters) {
    let mut engine = Engine::new(1 << 20, POLICY);
    for &frame in frames {
        let wire_len = frame.len() as u32;
        let link_type = LinkType::Ethernet;
        engine.frame(&Frame {
            data: frame,
            wire_len,
            time: None,
            link_type,
            interface: 0,
            loss: TapLoss::None,
            statistics: 0,
        });
    }
    let reading = engine.finish();
    let records = reading.records.into_iter();
    (records.map(|(key, totals, _)| (name(&key, tap), totals)).collect(), *reading.tap)
}

fn assert_same_counters(kernel: &TapCounters, expected: &TapCounters, what: &str) {
    assert_eq!(kernel.marking, expected.marking, "{what}: marking");
    assert_eq!(kernel.opcode, expected.opcode, "{what}: opcodes");
    assert_eq!(kernel.wire_bytes, expected.wire_bytes, "{what}: bytes");
    assert_eq!(kernel.v1_packets, expected.v1_packets, "{what}: RoCEv1");
    assert_eq!(kernel.data_pcp, expected.data_pcp, "{what}: PCP");
    assert_eq!(kernel.nak, expected.nak, "{what}: NAKs");
    assert_eq!(kernel.reason, expected.reason, "{what}: reasons");
    assert_eq!((kernel.table_full, kernel.slot_busy, kernel.other_packets), (0, 0, 0), "{what}");
}

/// Runs frames through every hook and compares.
fn check(what: &str, frames: &[Vec<u8>]) {
    // A pause of this machine between two frames makes a timeout of what else is a go-back-N episode.
    check_with(what, frames, |totals| {
        if let Some(sequence) = &mut totals.sequence {
            sequence.go_back_n_episodes += std::mem::take(&mut sequence.timeouts);
        }
    });
}

/// The same without PSN figures: they depend on time, and `root_sequence` compares them.
fn check_counters(what: &str, frames: &[Vec<u8>]) {
    check_with(what, frames, |totals| {
        totals.sequence = None;
        totals.highest_psn = None;
    });
}

fn check_with(what: &str, frames: &[Vec<u8>], blur: impl Fn(&mut RecordTotals)) {
    for program in Program::ALL {
        let datapath = load(1 << 16, program);
        let tap = u8::from(program == Program::TcEgress);
        let frames: Vec<_> =
            frames.iter().filter(|frame| !program.is_tc() || has_whole_ip_header(frame)).collect();
        assert!(!frames.is_empty());
        for &frame in &frames {
            let result = datapath.run(program, frame, 1).expect("the frame runs");
            let verdict = if program.is_tc() { NEXT } else { PASS };
            assert_eq!(result.verdict, verdict, "{what}: {program:?} must pass every frame on");
            assert_eq!(&result.frame, frame, "{what}: {program:?} must not change a frame");
        }
        let (mut records, counters) = expected(&frames, tap);
        records.values_mut().for_each(&blur);
        let what = format!("{what} at {program:?}");
        assert_same_counters(&datapath.taps.read(tap), &counters, &what);
        let mut kernel = kernel_records(&datapath);
        kernel.values_mut().for_each(&blur);
        assert_eq!(kernel.keys().collect::<Vec<_>>(), records.keys().collect::<Vec<_>>(), "{what}");
        for (key, totals) in &records {
            // A file's analysis also knows the path MTU of the other direction.
            let kernel = RecordTotals { path_mtu: totals.path_mtu, ..kernel[key].clone() };
            assert_eq!(&kernel, totals, "{what}: {key}");
        }
    }
}

/// The kernel makes no skb of an IP packet without a whole header.
fn has_whole_ip_header(frame: &[u8]) -> bool {
    frame.len() >= if frame[12..14] == [0x86, 0xdd] { 54 } else { 34 }
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("testdata is in the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.to_string_lossy().contains(".pcap") {
            found.push(path);
        }
    }
}

#[test]
fn root_scenarios_count_as_in_user_space() {
    let frames: Vec<_> = scenario::all()
        .iter()
        .flat_map(|scenario| scenario.frames.iter().map(|frame| frame.bytes.clone()))
        .collect();
    assert!(frames.len() > 500, "{} frames", frames.len());
    check("scenarios", &frames);
}

#[test]
fn root_captures_count_as_in_user_space() {
    let mut paths = Vec::new();
    captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures"), &mut paths);
    assert!(paths.len() > 30, "{} captures", paths.len());
    let mut frames = Vec::new();
    for path in paths {
        let mut reader = CaptureReader::open(&path).expect("a good capture");
        let mut taken = 0;
        while let Ok(Some(frame)) = reader.next_frame() {
            if frame.link_type == LinkType::Ethernet && frame.data.len() >= 34 && taken < 2000 {
                frames.push(frame.data.to_vec());
                taken += 1;
            }
        }
    }
    assert!(frames.len() > 5000, "{} frames", frames.len());
    check_counters("captures", &frames);
}

#[test]
fn root_every_opcode_counts_as_in_user_space() {
    let frames: Vec<_> = (0..=255)
        .map(|code| Packet::new(Opcode(code)).dest_qp(7).payload_len(64).build())
        .collect();
    check_counters("every opcode byte", &frames);
}

#[test]
fn root_frames_cut_at_every_length_count_as_in_user_space() {
    let whole = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).dest_qp(7).payload_len(8).build();
    let frames: Vec<_> = (14..=whole.len()).map(|len| whole[..len].to_vec()).collect();
    check_counters("a cut frame", &frames);
}

#[test]
fn root_damaged_frames_count_as_in_user_space() {
    let whole: Vec<_> = scenario::all()
        .iter()
        .flat_map(|scenario| scenario.frames.iter().take(40).map(|frame| frame.bytes.clone()))
        .collect();
    // xorshift: the same damage in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let mut frames = Vec::new();
    while frames.len() < 20_000 {
        let mut frame = whole[next(whole.len())].clone();
        for _ in 0..=next(3) {
            // Most of what can go wrong is in the headers.
            let position = next(frame.len().min(100));
            frame[position] =
                if next(2) == 0 { next(256) as u8 } else { frame[position] ^ 1 << next(8) };
        }
        if next(4) == 0 {
            frame.truncate(34 + next(frame.len() - 33));
        }
        frames.push(frame);
    }
    check_counters("damaged frames", &frames);
}

/// A connection manager REQ from `from` for its QP `qp` (IBTA 12.6.5).
fn connect_request(from: IpAddr, to: IpAddr, qp: u32) -> Vec<u8> {
    let mut mad = vec![0; 256];
    (mad[1], mad[17]) = (0x07, 0x10);
    mad[24 + 32..24 + 36].copy_from_slice(&(qp << 8).to_be_bytes());
    Packet::new(Opcode::UD_SEND_ONLY).ip(from, to).dest_qp(1).payload(mad).build()
}

#[test]
fn root_a_qp_that_is_opened_again_has_lost_nothing() {
    const QP: u32 = 0x77;
    for v6 in [false, true] {
        let [a, b]: [IpAddr; 2] = if v6 {
            ["fd00::1".parse().unwrap(), "fd00::2".parse().unwrap()]
        } else {
            [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]
        };
        let write = |psn| {
            Packet::new(Opcode::RC_RDMA_WRITE_ONLY)
                .ip(a, b)
                .dest_qp(QP)
                .psn(psn)
                .payload_len(64)
                .build()
        };
        // The second connection starts where the first would have a gap of 500.
        let mut frames: Vec<_> = (1000..1010).chain([1012, 1013]).map(write).collect();
        frames.push(connect_request(b, a, QP));
        frames.extend((1510..1520).map(write));
        check("a QP that is opened again", &frames);

        let datapath = load(4096, Program::Xdp);
        for frame in &frames {
            datapath.run(Program::Xdp, frame, 1).expect("the frame runs");
        }
        let records = kernel_records(&datapath);
        let open: u64 =
            records.values().filter_map(|totals| totals.sequence).map(|figures| figures.open).sum();
        assert_eq!(open, 2, "only the gap of the first connection: {records:?}");
    }
}

#[test]
fn root_copies_that_a_mirror_makes_are_no_retransmissions() {
    let [a, b] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
    let write = |psn| {
        let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).ip(a, b).dest_qp(9).psn(psn);
        packet.payload_len(64).build()
    };
    let acknowledge = Packet::new(Opcode::RC_ACKNOWLEDGE).ip(b, a).dest_qp(8).psn(0).build();
    let datapath = load(4096, Program::Xdp);
    let run = |frame: &[u8], times| {
        datapath.run(Program::Xdp, frame, times).expect("the frame runs");
    };
    run(&write(0), 1);
    run(&acknowledge, 1);
    for psn in 1..200 {
        run(&write(psn), 2);
    }
    // A rewind over the last ten, each once: none of them is a copy.
    for psn in 190..200 {
        run(&write(psn), 1);
    }
    let records = kernel_records(&datapath);
    let figures = records.values().find_map(|totals| totals.sequence).expect("one record");
    // A test run may be interrupted between a packet and its copy.
    assert!((180..=199).contains(&figures.tap_duplicates), "{figures:?}");
    assert_eq!(figures.tap_duplicates + figures.retransmitted, 209, "{figures:?}");
    assert_eq!((figures.lost, figures.reordered, figures.open), (0, 0, 0), "{figures:?}");
}

/// Every connection has its answers timed, and there are more connections than side states.
#[test]
fn root_timing_leaves_side_states_for_trouble() {
    const CONNECTIONS: u32 = 120;
    let [a, b] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
    // A sixth of them have side state.
    let datapath = load(384, Program::Xdp);
    let run = |packet: Packet| {
        datapath.run(Program::Xdp, &packet.build(), 1).expect("the frame runs");
    };
    let write = |qp, psn| {
        let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).ip(a, b).dest_qp(qp).psn(psn);
        packet.udp_source(0xc000 + qp as u16).payload_len(64).ack_req(true)
    };
    let acknowledge = |qp, psn| {
        let packet = Packet::new(Opcode::RC_ACKNOWLEDGE).ip(b, a).dest_qp(0x1000 + qp).psn(psn);
        packet.udp_source(0xc000 + qp as u16)
    };
    for psn in 0..150 {
        for qp in 2..2 + CONNECTIONS {
            run(write(qp, psn));
            run(acknowledge(qp, psn));
        }
    }
    run(write(2 + CONNECTIONS - 1, 155));
    let records = kernel_records(&datapath);
    let figures: Vec<_> = records.values().filter_map(|totals| totals.sequence).collect();
    assert_eq!(figures.len(), CONNECTIONS as usize, "none was refused");
    assert_eq!(figures.iter().map(|figures| figures.open).sum::<u64>(), 5);
}

#[test]
fn root_what_goes_missing_while_the_tap_loses_packets_is_unseen() {
    let datapath = load(4096, Program::Xdp);
    let run = |psn| {
        let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).dest_qp(9).psn(psn).payload_len(64);
        datapath.run(Program::Xdp, &packet.build(), 1).expect("the frame runs");
    };
    (0..10).chain([12]).for_each(run);
    let index = (0..datapath.narrow.len())
        .find(|index| datapath.narrow.slot(*index).is_some_and(|slot| slot.key.tag().is_some()))
        .expect("one record");
    let since = datapath.narrow.slot(index).expect("inside").sequence_word();
    run(18);
    datapath.narrow.note_tap_loss(index, since);
    let records = kernel_records(&datapath);
    let figures = records.values().find_map(|totals| totals.sequence).expect("one record");
    assert_eq!((figures.unseen, figures.open), (5, 2), "only what is new: {figures:?}");
}

#[test]
fn root_answers_find_requests_that_were_taken_out_and_came_again() {
    let [a, b] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
    let datapath = load(4096, Program::Xdp);
    let run = |packet: Packet| {
        datapath.run(Program::Xdp, &packet.build(), 1).expect("the frame runs");
    };
    let write = |psn| {
        let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).ip(a, b).dest_qp(9).psn(psn);
        packet.payload_len(64)
    };
    let answer = |psn| Packet::new(Opcode::RC_ACKNOWLEDGE).ip(b, a).dest_qp(8).psn(psn);
    let table = &datapath.narrow;
    let find = |space| {
        let is_its = |index: &usize| {
            table
                .slot(*index)
                .and_then(|slot| slot.key.tag())
                .is_some_and(|tag| tag.space() == space)
        };
        (0..table.len()).find(is_its).expect("a record")
    };
    run(write(0));
    run(answer(0));
    let (requests, answers) = (find(PsnSpace::Request), find(PsnSpace::Acknowledge));
    let linked = |index| table.read(index).expect("nobody writes").cold.peer;
    assert_eq!((linked(requests), linked(answers)), (answers as u32 + 1, requests as u32 + 1));

    table.evict(requests, &table.slot(requests).expect("inside")).expect("it did not change");
    assert_eq!(linked(answers), 0, "nobody finds what is gone");
    run(write(1));
    run(write(3));
    let again = find(PsnSpace::Request);
    // As the sweep does where the kernel has not: the PSNs tell.
    table.link(again, answers, PsnSpace::Acknowledge);
    run(write(4));
    run(answer(4));
    let records = kernel_records(&datapath);
    let figures = records.values().find_map(|totals| totals.sequence).expect("requests");
    assert_eq!((figures.unseen, figures.open, figures.lost), (1, 0, 0), "{figures:?}");
}

#[test]
fn root_a_full_table_loses_no_packet() {
    const FLOWS: u32 = 200_000;
    let datapath = load(131_072, Program::Xdp);
    let slots = datapath.narrow.len();
    for frame in ManyFlows::new(FLOWS, u64::from(FLOWS), 64) {
        datapath.run(Program::Xdp, &frame, 1).expect("the frame runs");
    }
    let counters = datapath.taps.read(0);
    let records = kernel_records(&datapath);
    let spilled = datapath.spill.entries().expect("readable");
    let in_slots: u64 = records.values().map(|totals| totals.packets).sum();
    let in_spill: u64 = spilled.iter().map(|(_, count)| count.packets).sum();
    assert_eq!(counters.packets(), u64::from(FLOWS));
    assert_eq!(counters.table_full, u64::from(FLOWS) - in_slots);
    assert_eq!(in_slots + in_spill + counters.other_packets, u64::from(FLOWS));
    assert!(records.len() > 131_072, "a table for 131072 holds at least as many");
    assert!(counters.table_full > 0, "200000 flows fit nowhere else");
    assert_eq!(datapath.narrow.len(), slots);
}

#[test]
fn root_a_small_table_fills_the_fallback_and_then_counts_without_flow() {
    const FLOWS: u32 = 20_000;
    let datapath = load(64, Program::Xdp);
    let frames: Vec<_> = ManyFlows::new(FLOWS, u64::from(FLOWS), 64).collect();
    for frame in &frames {
        datapath.run(Program::Xdp, frame, 1).expect("the frame runs");
    }
    let counters = datapath.taps.read(0);
    let in_slots: u64 = kernel_records(&datapath).values().map(|totals| totals.packets).sum();
    let spilled = datapath.spill.entries().expect("readable");
    let in_spill: u64 = spilled.iter().map(|(_, count)| count.packets).sum();
    assert!(counters.other_packets > 0);
    assert_eq!(in_slots + in_spill + counters.other_packets, u64::from(FLOWS));
    let bytes: u64 = frames.iter().map(|frame| frame.len() as u64).sum();
    assert_eq!(counters.wire_bytes, bytes);
}

#[test]
fn root_removed_records_make_room_and_nothing_is_lost() {
    const FLOWS: u32 = 3000;
    let datapath = load(4096, Program::Xdp);
    let frames: Vec<_> = ManyFlows::new(FLOWS, u64::from(FLOWS), 64).collect();
    let mut evicted = 0;
    for round in 0..5 {
        for frame in &frames {
            datapath.run(Program::Xdp, frame, 1).expect("the frame runs");
        }
        for index in (round % 2..datapath.narrow.len()).step_by(2) {
            let slot = datapath.narrow.slot(index).expect("inside");
            if slot.key.tag().is_some() {
                let last = datapath.narrow.evict(index, &slot).expect("it did not change");
                evicted += u64::from(last.slot.packets);
            }
        }
    }
    let kept: u64 = kernel_records(&datapath).values().map(|totals| totals.packets).sum();
    assert_eq!(evicted + kept, 5 * u64::from(FLOWS));
    assert_eq!(datapath.taps.read(0).table_full, 0);
}

#[test]
fn root_two_cpus_on_one_flow_and_a_reader_lose_nothing() {
    const REPEAT: u32 = 2_000_000;
    let datapath = load(4096, Program::Xdp);
    let frames = [
        Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE).dest_qp(7).payload_len(1024).build(),
        Packet::new(Opcode::RC_RDMA_WRITE_LAST).dest_qp(7).payload_len(100).build(),
    ];
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = frames
            .iter()
            .map(|frame| {
                scope.spawn(|| datapath.run(Program::Xdp, frame, REPEAT).expect("it runs"))
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut last = 0;
            let mut reads = 0_u64;
            while !done.load(Ordering::Relaxed) {
                for index in 0..datapath.narrow.len() {
                    let taken = datapath.narrow.slot(index).is_some_and(|s| s.key.tag().is_some());
                    if taken
                        && let Some(RecordState { slot, cold, .. }) = datapath.narrow.read(index)
                    {
                        let run = slot.open_run(&cold);
                        let booked: u32 = cold.opcodes.iter().sum();
                        assert_eq!(booked + run.packets, slot.packets, "one consistent state");
                        assert!(slot.packets >= last);
                        last = slot.packets;
                        reads += 1;
                    }
                }
            }
            reads
        });
        for writer in writers {
            writer.join().expect("no panic");
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("no torn state") > 0);
    });
    let records = kernel_records(&datapath);
    let spilled = datapath.spill.entries().expect("readable");
    let in_slots: u64 = records.values().map(|totals| totals.packets).sum();
    let in_spill: u64 = spilled.iter().map(|(_, count)| count.packets).sum();
    assert_eq!(in_slots + in_spill, 2 * u64::from(REPEAT));
    assert_eq!(datapath.taps.read(0).packets(), 2 * u64::from(REPEAT));
    assert_eq!(datapath.taps.read(0).slot_busy, in_spill);
}
