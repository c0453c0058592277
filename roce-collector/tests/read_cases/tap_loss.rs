//! Packets that the capturing side says it lost.

use std::io::Cursor;

use roce_collector::capture::CaptureReader;
use roce_collector::flow::{FlowReport, SequenceReport};
use roce_collector::read::{Engine, FlowFilter, ReadReport, Source};
use roce_common::marking::MarkingPolicy;
use roce_testkit::capture::{Format, PcapngWriter};
use roce_testkit::scenario::{Connection, LossAt, Scenario, go_back_n, write_stream};

const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const EPB_DROPCOUNT: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// A pcapng file, block by block.
struct File(Vec<u8>);

impl File {
    fn new() -> Self {
        let writer = PcapngWriter::new(Vec::new(), Format::default()).expect("memory");
        Self(writer.finish().expect("memory"))
    }

    fn block(&mut self, kind: u32, body: &[u8], option: Option<(u16, u64)>) {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        if let Some((code, value)) = option {
            body.extend([code.to_le_bytes(), 8_u16.to_le_bytes()].concat());
            body.extend(value.to_le_bytes());
            body.extend([0; 4]);
        }
        let len = (body.len() as u32 + 12).to_le_bytes();
        self.0.extend([&kind.to_le_bytes()[..], &len, &body, &len].concat());
    }

    /// Interface 0 has lost `dropped` packets since the capture began.
    fn statistics(&mut self, dropped: u64) {
        self.block(INTERFACE_STATISTICS, &[0; 12], Some((ISB_IFDROP, dropped)));
    }

    /// `dropped` packets were lost right before the frame.
    fn frame(&mut self, nanos: u64, frame: &[u8], dropped: Option<u64>) {
        let len = frame.len() as u32;
        let fields = [0, (nanos >> 32) as u32, nanos as u32, len, len];
        let mut body: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        body.extend(frame);
        self.block(ENHANCED_PACKET, &body, dropped.map(|count| (EPB_DROPCOUNT, count)));
    }

    fn frames(&mut self, scenario: &Scenario, range: std::ops::Range<usize>) {
        for frame in &scenario.frames[range] {
            self.frame(frame.nanos, &frame.bytes, None);
        }
    }

    fn report(self) -> ReadReport {
        let mut reader = CaptureReader::from_reader(Cursor::new(self.0)).expect("a capture file");
        let mut engine = Engine::new(1000, MarkingPolicy::DEFAULT);
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            engine.frame(&frame);
        }
        engine.note_loss_at_end(reader.loss_at_end());
        let source = Source {
            file: "test".as_ref(),
            info: reader.info(),
            capture_dropped: reader.capture_dropped(),
            error: None,
        };
        let filter = FlowFilter { qp: Some(Connection::ipv4(1).responder.qp), peer: None };
        ReadReport::of(&engine.finish(), &source, &filter)
    }
}

/// One direction of a stream in which the frame `GAP - 1` is missing.
const GAP: usize = 12;

fn one_way() -> Scenario {
    let mut scenario = write_stream(&Connection::ipv4(1), 4, 8);
    let forward = scenario.frames[0].bytes[26..30].to_vec();
    scenario.frames.retain(|frame| frame.bytes[26..30] == forward[..]);
    scenario.frames.remove(GAP);
    scenario
}

fn sequence(report: &ReadReport) -> SequenceReport {
    let sequences = report.flows.iter().filter_map(FlowReport::sequence);
    sequences.fold(SequenceReport::default(), |sum, sequence| sum.plus(&sequence))
}

const UNSEEN: SequenceReport = SequenceReport {
    unseen: 1,
    lost: 0,
    recovered: 0,
    reordered: 0,
    open: 0,
    retransmitted: 0,
    retransmitted_bytes: 0,
    tap_duplicates: 0,
    go_back_n_episodes: 0,
    timeouts: 0,
};
const OPEN: SequenceReport = SequenceReport { unseen: 0, open: 1, ..UNSEEN };

#[test]
fn a_drop_count_before_the_gap_explains_it() {
    let scenario = one_way();
    let end = scenario.frames.len();
    let at = |place: usize| {
        let mut file = File::new();
        file.frames(&scenario, 0..place);
        file.frame(scenario.frames[place].nanos, &scenario.frames[place].bytes, Some(1));
        file.frames(&scenario, place + 1..end);
        file.report()
    };
    let report = at(GAP);
    assert_eq!(sequence(&report), UNSEEN);
    assert_eq!(report.not_seen.capture_dropped, Some(1));
    let timeline = report.flows[0].timeline.as_ref().expect("it was asked for");
    let what = "the capture lost packets here: 1 missing packet may be among them, no loss claimed";
    assert!(timeline.iter().any(|entry| entry.what == what), "{timeline:#?}");
    for elsewhere in [GAP - 2, GAP + 2] {
        assert_eq!(sequence(&at(elsewhere)), OPEN, "before frame {elsewhere}");
    }
}

#[test]
fn statistics_that_moved_explain_what_is_missing_since_the_ones_before() {
    let scenario = one_way();
    let end = scenario.frames.len();
    let with = |statistics: &[(usize, u64)]| {
        let (mut file, mut next) = (File::new(), 0);
        for &(place, dropped) in statistics {
            file.frames(&scenario, next..place);
            file.statistics(dropped);
            next = place;
        }
        file.frames(&scenario, next..end);
        sequence(&file.report())
    };
    assert_eq!(with(&[(end, 5)]), UNSEEN, "at some time of the capture");
    assert_eq!(with(&[(end, 0)]), OPEN);
    assert_eq!(with(&[(GAP - 4, 0), (GAP + 4, 5), (end, 5)]), UNSEEN);
    assert_eq!(with(&[(GAP - 4, 5), (GAP + 4, 5), (end, 5)]), OPEN, "it was before");
    assert_eq!(with(&[(GAP - 4, 5), (GAP + 4, 5), (end, 9)]), OPEN, "it was after");
    assert_eq!(with(&[(GAP, 5), (end, 5)]), UNSEEN, "right before");
}

#[test]
fn repairs_show_a_loss_whatever_the_capture_lost_later() {
    let scenario = go_back_n(&Connection::ipv4(1), 1, LossAt::BeforeTap);
    let mut file = File::new();
    file.frames(&scenario, 0..scenario.frames.len());
    file.statistics(7);
    let sequence = sequence(&file.report());
    assert_eq!((sequence.lost, sequence.recovered, sequence.unseen), (1, 1, 0));
}
