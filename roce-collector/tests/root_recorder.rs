//! The flight recorder, from the kernel's ring to a capture file. Needs root: fails without.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use roce_collector::attach::{DirectionChoice, HookChoice, KernelFacts, LinkSource, Program};
use roce_collector::bpf::{AttachRequest, Attachments, Datapath, DatapathOptions, event_clock_ns};
use roce_collector::capture::{CaptureReader, Timestamp};
use roce_collector::read::Engine;
use roce_collector::recorder::{self, FlightRecorder, RecordedFrame, Recording};
use roce_collector::sweep::{Moment, Tables};
use roce_common::marking::MarkingPolicy;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::packet::Packet;
use roce_testkit::replay::replay_timed;
use roce_testkit::scenario::{Connection, LossAt, Scenario, answers_lost, go_back_n, write_stream};

/// Bytes of a packet that are kept.
const KEPT: usize = 96;
/// Packets of a connection.
const RING: usize = 64;
/// Of an episode of `go_back_n`, the NAK, what is sent again, and its ACK are in trouble.
const EPISODE: usize = 24;
const TROUBLE: std::ops::Range<usize> = 8..15;
const PATIENCE: Duration = Duration::from_secs(5);

fn load(program: Program, recorders: u32) -> Datapath {
    let options = DatapathOptions {
        max_flows: 4096,
        interfaces: 1,
        marking: MarkingPolicy::DEFAULT,
        recorders,
    };
    let mut datapath =
        Datapath::load(&options).expect("this test needs root and BPF: run it with sudo");
    datapath.verify(program).expect("the verifier accepts the program");
    datapath
}

fn now() -> Moment {
    let wall = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    let wall = Timestamp::from_nanos(wall.as_nanos() as u64);
    Moment { wall, boot_ns: event_clock_ns(), uptime: Duration::ZERO }
}

fn ends(lab: &Connection) -> recorder::Connection {
    let (a, b) = (lab.requester, lab.responder);
    recorder::Connection { a: Some(a.ip), a_qp: Some(a.qp), b: Some(b.ip), b_qp: Some(b.qp) }
}

fn run(datapath: &Datapath, program: Program, scenario: &Scenario) {
    for frame in &scenario.frames {
        datapath.run(program, &frame.bytes, 1).expect("the frame runs");
    }
}

fn recorded(datapath: &Datapath, lab: &Connection) -> Recording {
    datapath.recorded(&ends(lab), now())
}

/// The last packets in trouble of a `go_back_n`.
fn in_trouble(scenario: &Scenario) -> Vec<Vec<u8>> {
    let frames = scenario.frames.iter().enumerate();
    let frames = frames.filter(|(index, _)| TROUBLE.contains(&(index % EPISODE)));
    let mut frames: Vec<_> = frames.map(|(_, frame)| first_bytes(&frame.bytes)).collect();
    frames.drain(..frames.len().saturating_sub(RING));
    frames
}

fn first_bytes(frame: &[u8]) -> Vec<u8> {
    frame[..frame.len().min(KEPT)].to_vec()
}

/// Says which packet differs, not all of them.
fn assert_same(left: &[Vec<u8>], right: &[Vec<u8>], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}");
    let differs = left.iter().zip(right).position(|(left, right)| left != right);
    assert_eq!(
        differs,
        None,
        "{what}: {:02x?}, not {:02x?}",
        left[differs.unwrap_or(0)],
        right[differs.unwrap_or(0)]
    );
}

fn bytes(frames: &[RecordedFrame]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| frame.bytes.clone()).collect()
}

#[test]
fn root_the_last_packets_in_trouble_are_kept_at_every_hook() {
    let programs = [Program::Xdp, Program::XdpFrags, Program::TcIngress, Program::TcEgress];
    for program in programs {
        let datapath = load(program, 4);
        for (lab, episodes) in [(Connection::ipv4(1), 3), (Connection::ipv6(2), 30)] {
            let scenario = go_back_n(&lab, episodes, LossAt::AfterTap);
            run(&datapath, program, &scenario);
            let recording = recorded(&datapath, &lab);
            assert_same(&bytes(&recording.frames), &in_trouble(&scenario), program.name());
            assert_eq!(recording.lost, 0);
            let lens = recording.frames.iter().map(|frame| frame.wire_len as usize);
            let sent = scenario.frames.iter().enumerate();
            let sent = sent.filter(|(index, _)| TROUBLE.contains(&(index % EPISODE)));
            let sent: Vec<_> = sent.map(|(_, frame)| frame.bytes.len()).collect();
            assert_eq!(lens.collect::<Vec<_>>(), sent[sent.len() - recording.frames.len()..]);
            let tap = u8::from(program == Program::TcEgress);
            assert!(recording.frames.iter().all(|frame| frame.tap == tap), "{program:?}");
        }
        // Whoever is not in trouble is not recorded, and nobody is when nothing is.
        let quiet = Connection::ipv4(9);
        run(&datapath, program, &write_stream(&quiet, 100, 8));
        assert_eq!(recorded(&datapath, &quiet), Recording::default(), "{program:?}");
        let lab = Connection::ipv4(1);
        let off = load(program, 0);
        run(&off, program, &go_back_n(&lab, 3, LossAt::AfterTap));
        assert_eq!(recorded(&off, &lab), Recording::default());
    }
}

#[test]
fn root_answers_that_do_not_arrive_are_recorded_with_what_is_sent_again() {
    let datapath = load(Program::Xdp, 4);
    let lab = Connection::ipv4(1);
    let scenario = answers_lost(&lab, 5);
    let mut before = 0;
    for frame in &scenario.frames {
        thread::sleep(Duration::from_nanos(frame.nanos - before));
        before = frame.nanos;
        datapath.run(Program::Xdp, &frame.bytes, 1).expect("the frame runs");
    }
    // All but the first 8 packets and their ACK, which were in order.
    let sent: Vec<_> = scenario.frames[9..].iter().map(|frame| first_bytes(&frame.bytes)).collect();
    assert_same(&bytes(&recorded(&datapath, &lab).frames), &sent, "all that is sent again");
}

#[test]
fn root_more_connections_in_trouble_than_recorders() {
    const RECORDERS: u32 = 8;
    let datapath = load(Program::Xdp, RECORDERS);
    let labs: Vec<_> = (1..=40).map(Connection::ipv4).collect();
    let mut sent = 0;
    let play = |lab: &Connection| {
        let scenario = go_back_n(lab, 2, LossAt::AfterTap);
        run(&datapath, Program::Xdp, &scenario);
        in_trouble(&scenario)
    };
    let all: Vec<_> = labs.iter().map(play).collect();
    let (mut kept, mut whole) = (0, 0);
    for (lab, expected) in labs.iter().zip(&all) {
        let frames = bytes(&recorded(&datapath, lab).frames);
        assert!(frames.is_empty() || frames == *expected, "a connection has its own packets");
        whole += u32::from(!frames.is_empty());
        kept += frames.len();
        sent += expected.len();
    }
    assert!((RECORDERS..RECORDERS + 4).contains(&whole), "{whole} recorders have packets");
    let refused = datapath.taps.read(0).frames_unrecorded;
    assert_eq!(kept as u64 + refused, sent as u64, "what is not kept is counted");

    // After a while without trouble, recorders go to others.
    thread::sleep(Duration::from_millis(5200));
    let late = Connection::ipv4(100);
    let expected = play(&late);
    assert_same(&bytes(&recorded(&datapath, &late).frames), &expected, "a late one");
    assert_eq!(datapath.taps.read(0).frames_unrecorded, refused);
}

#[test]
fn root_a_record_that_is_taken_out_and_comes_again_keeps_its_recorder() {
    let datapath = load(Program::Xdp, 4);
    let lab = Connection::ipv4(1);
    let scenario = go_back_n(&lab, 1, LossAt::AfterTap);
    run(&datapath, Program::Xdp, &scenario);
    let expected = in_trouble(&scenario);
    for index in 0..datapath.narrow.len() {
        if let Some(slot) = datapath.narrow.slot(index).filter(|slot| slot.packets != 0) {
            datapath.narrow.evict(index, &slot).expect("nobody else writes");
        }
    }
    let kept = bytes(&recorded(&datapath, &lab).frames);
    assert_same(&kept, &expected, "it is kept for its incident");
    // Others in the same places, and then the same one again.
    for number in 2..=5 {
        run(&datapath, Program::Xdp, &write_stream(&Connection::ipv4(number), 2, 4));
    }
    run(&datapath, Program::Xdp, &scenario);
    let twice = [expected.clone(), expected].concat();
    assert_same(&bytes(&recorded(&datapath, &lab).frames), &twice, "and goes on");
}

#[test]
fn root_two_cpus_and_a_reader_get_whole_packets() {
    const ROUNDS: u32 = 200_000;
    let datapath = load(Program::Xdp, 4);
    let lab = Connection::ipv4(1);
    // Two packets far apart: each is behind or ahead of the other, again and again.
    let write = |psn, fill: u8| -> Vec<u8> {
        let packet: Packet =
            lab.forward(roce_testkit::packet::Opcode::RC_RDMA_WRITE_MIDDLE).psn(psn);
        packet.payload(vec![fill; 1000 + usize::from(fill)]).build()
    };
    let frames = [write(100, 1), write(160, 2)];
    let whole: Vec<_> = frames.iter().map(|frame| first_bytes(frame)).collect();
    let done = AtomicBool::new(false);
    let (reads, lost) = thread::scope(|scope| {
        let writers: Vec<_> = frames
            .iter()
            .map(|frame| {
                scope.spawn(|| datapath.run(Program::Xdp, frame, ROUNDS).expect("it runs"))
            })
            .collect();
        let reader = scope.spawn(|| {
            let (mut reads, mut lost) = (0_u64, 0_u64);
            while !done.load(Ordering::Relaxed) {
                let recording = recorded(&datapath, &lab);
                for frame in &recording.frames {
                    assert!(whole.contains(&frame.bytes), "a torn packet: {frame:?}");
                    let sent = frames.iter().find(|sent| sent.starts_with(&frame.bytes));
                    assert_eq!(Some(frame.wire_len as usize), sent.map(Vec::len));
                }
                reads += recording.frames.len() as u64;
                lost += recording.lost;
            }
            (reads, lost)
        });
        for writer in writers {
            writer.join().expect("no panic");
        }
        done.store(true, Ordering::Relaxed);
        reader.join().expect("no torn packet")
    });
    println!("{reads} packets read, {lost} overwritten meanwhile");
    assert!(reads > 0);
    assert_eq!(recorded(&datapath, &lab).frames.len(), RING, "a full ring when all is quiet");
}

#[test]
fn root_an_incident_on_a_real_interface_becomes_a_capture_file() {
    let left = Namespace::create("left").expect("this test needs root: run it with sudo");
    let right = Namespace::create("right").expect("as above");
    let config = VethConfig { mtu: 9000, ..VethConfig::default() };
    let _veth = VethPair::create(&left, &right, &config).expect("a veth pair");
    let (datapath, _attachments) = right.run(attach).expect("the namespace is there");
    let lab = Connection::ipv4(1);
    let scenario = go_back_n(&lab, 20, LossAt::AfterTap);
    let start = now();
    let timed = scenario.frames.iter().map(|frame| (Duration::from_nanos(frame.nanos), frame));
    let sent = replay_timed(&left, "left0", timed, 1.0).expect("it plays");
    assert_eq!(sent.dropped, 0);
    let waiting = Instant::now();
    while datapath.taps.read(0).packets() < sent.frames && waiting.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }

    let folder = tempfile::tempdir().expect("a folder");
    let interfaces = Arc::from(["right0".to_owned()]);
    let mut recorder = FlightRecorder::new(folder.path().join("records"), 1 << 20, interfaces);
    recorder.prepare().expect("a folder");
    let connection = ends(&lab);
    let file = recorder.record_incident(&datapath, now(), &connection, "7", "congestion_loss");
    let file = file.expect("something was recorded");
    let end = now();
    assert_eq!(recorder.counts().written, 1);

    let mut reader = CaptureReader::open(Path::new(&file)).expect("a capture file");
    let mut engine = Engine::new(100, MarkingPolicy::DEFAULT);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        assert!(frame.time.is_some_and(|time| time >= start.wall && time <= end.wall));
        frames.push(frame.data.to_vec());
        engine.frame(&frame);
    }
    assert_same(&frames, &in_trouble(&scenario), "in the file");
    let reading = engine.finish();
    let totals = reading.records.iter().filter_map(|(_, totals, _)| totals.sequence);
    let lost: u64 = totals.map(|figures| figures.lost + figures.open).sum();
    assert_eq!(lost, 0, "what is left out between two episodes is not lost");
    assert_eq!(reading.tap.packets(), RING as u64, "every header can be read");
    assert_eq!(
        reading.tap.nak[0], 9,
        "the NAKs of the last nine episodes, and a part of one before"
    );
    // Somebody else's connection has nothing.
    let other = ends(&Connection::ipv4(2));
    assert_eq!(recorder.record_incident(&datapath, now(), &other, "8", ""), None);
    assert_eq!(recorder.counts().empty, 1);
}

fn attach() -> (Datapath, Attachments) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let source = runtime.block_on(async { LinkSource::open(Path::new("/sys")) }).expect("netlink");
    let names = vec!["right0".to_owned()];
    let links = runtime.block_on(source.read(&names)).expect("the interface");
    let options = DatapathOptions {
        max_flows: 4096,
        interfaces: 1,
        marking: MarkingPolicy::DEFAULT,
        recorders: 16,
    };
    let mut datapath = Datapath::load(&options).expect("root and BPF");
    let request = AttachRequest {
        interfaces: names,
        hook: HookChoice::Auto,
        direction: DirectionChoice::Ingress,
        kernel: KernelFacts::default(),
    };
    let attachments = Attachments::attach(&mut datapath, &links, request).expect("it attaches");
    (datapath, attachments)
}
