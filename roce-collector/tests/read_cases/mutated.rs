//! Traffic with frames dropped, doubled, swapped, cut and damaged: whatever a file holds, the report is whole.

use proptest::prelude::*;
use proptest::sample::Index;
use roce_collector::capture::{CaptureReader, Timestamp};
use roce_collector::read::{Colours, Engine, FlowFilter, ReadReport, Source, write_text};
use roce_common::marking::MarkingPolicy;
use roce_testkit::capture::{Format, PcapWriter};
use roce_testkit::scenario::{Frame, all};

use super::{capture, open_bytes, report};

/// One thing that goes wrong; the index picks the frame.
#[derive(Clone, Debug)]
enum Damage {
    Drop(Index),
    Double(Index),
    Swap(Index, Index),
    Cut(Index, Index),
    Flip(Index, Index, u8),
    /// The frame and all behind it come so many microseconds later.
    Pause(Index, u32),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Damage::Drop),
        at().prop_map(Damage::Double),
        (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (at(), at()).prop_map(|(frame, len)| Damage::Cut(frame, len)),
        (at(), at(), 1..=255_u8).prop_map(|(frame, byte, flip)| Damage::Flip(frame, byte, flip)),
        (at(), 1..5_000_000_u32).prop_map(|(frame, micros)| Damage::Pause(frame, micros)),
    ]
}

fn apply(frames: &mut Vec<Frame>, damage: &Damage) {
    let len = frames.len();
    if len == 0 {
        return;
    }
    match damage {
        Damage::Drop(at) => drop(frames.remove(at.index(len))),
        Damage::Double(at) => frames.insert(at.index(len), frames[at.index(len)].clone()),
        Damage::Swap(one, other) => frames.swap(one.index(len), other.index(len)),
        Damage::Cut(at, to) => {
            let bytes = &mut frames[at.index(len)].bytes;
            bytes.truncate(to.index(bytes.len() + 1));
        }
        Damage::Flip(at, byte, flip) => {
            let bytes = &mut frames[at.index(len)].bytes;
            if !bytes.is_empty() {
                let byte = byte.index(bytes.len());
                bytes[byte] ^= flip;
            }
        }
        Damage::Pause(at, micros) => {
            for frame in &mut frames[at.index(len)..] {
                frame.nanos += u64::from(*micros) * 1000;
            }
        }
    }
}

fn file(frames: &[Frame]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), Format::default()).expect("memory");
    for frame in frames {
        writer.write(frame.nanos, &frame.bytes).expect("memory");
    }
    writer.finish().expect("memory")
}

/// Generated traffic, and connections that a real driver set up.
fn traffic() -> Vec<Vec<Frame>> {
    let generated = all().into_iter().map(|scenario| scenario.frames);
    let captured = ["cm-ucmatose-v4.va", "cm-reject-nolistener-v4.va", "err-rnr-recover-v4.va"];
    generated.chain(captured.map(frames_of)).collect()
}

fn frames_of(name: &str) -> Vec<Frame> {
    let path = capture(&format!("lab/{name}.pcap.gz"));
    let mut reader = CaptureReader::open(&path).expect("a capture file");
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        let nanos = frame.time.map_or(0, Timestamp::as_nanos);
        frames.push(Frame { nanos, bytes: frame.data.to_vec() });
    }
    frames
}

fn report_of(file: Vec<u8>, qp: u32) -> ReadReport {
    let mut reader = open_bytes(file);
    let mut engine = Engine::new(1000, MarkingPolicy::DEFAULT);
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        engine.frame(&frame);
    }
    let source =
        Source { file: "test".as_ref(), info: reader.info(), capture_dropped: None, error: None };
    ReadReport::of(&engine.finish(), &source, &FlowFilter { qp: Some(qp), peer: None })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_report_is_whole(
        which in any::<Index>(),
        damages in proptest::collection::vec(damage(), 0..40),
    ) {
        let mut traffic = traffic();
        let mut frames = traffic.swap_remove(which.index(traffic.len()));
        for damage in &damages {
            apply(&mut frames, damage);
        }
        let bytes = file(&frames);
        let flows = report(open_bytes(bytes.clone())).flows;
        for qp in flows.iter().map(|flow| flow.dst_qp) {
            let report = report_of(bytes.clone(), qp);
            let pairs = report.pairs.iter().filter_map(|pair| pair.timeline.as_ref());
            let flows = report.flows.iter().filter_map(|flow| flow.timeline.as_ref());
            let timelines: Vec<_> = pairs.chain(flows).collect();
            prop_assert!(!timelines.is_empty(), "QP {qp:#x} has no time line");
            for timeline in timelines {
                prop_assert!(timeline.is_sorted_by_key(|entry| entry.frame), "{timeline:#?}");
                let frames = frames.len() as u64;
                prop_assert!(timeline.iter().all(|entry| (1..=frames).contains(&entry.frame)));
            }
            let mut text = Vec::new();
            let filter = FlowFilter { qp: Some(qp), peer: None };
            write_text(&mut text, &report, &filter, Colours::Off).expect("memory");
            let text = String::from_utf8(text).expect("text");
            prop_assert!(text.lines().all(|line| line.len() <= 120), "{text}");
            serde_json::to_string(&report).expect("JSON");
        }
    }
}
