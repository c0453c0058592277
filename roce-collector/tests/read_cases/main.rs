//! `roce-trace read` on real captures, on traffic whose truth is known, and on bad input.

mod answers;
mod cases;
mod cli;
mod connections;
mod cut;
mod formats;
mod incidents;
mod lab;
mod mutated;
mod psn;
mod scenarios;
mod tap_loss;
mod timeline;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use roce_collector::capture::CaptureReader;
use roce_collector::flow::FlowReport;
use roce_collector::read::{Engine, FlowFilter, ReadReport, Source};
use roce_common::marking::MarkingPolicy;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name)
}

/// The report of a sound file of testdata.
fn read(name: &str) -> ReadReport {
    let reader = CaptureReader::open(&capture(name));
    report(reader.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// The report of a sound file in memory.
fn read_bytes(bytes: Vec<u8>) -> ReadReport {
    report(open_bytes(bytes))
}

fn open_bytes(bytes: Vec<u8>) -> CaptureReader {
    CaptureReader::from_reader(Cursor::new(bytes)).expect("a capture file")
}

fn report(reader: CaptureReader) -> ReadReport {
    report_under(MarkingPolicy::DEFAULT, reader)
}

fn report_under(policy: MarkingPolicy, mut reader: CaptureReader) -> ReadReport {
    let mut engine = Engine::new(10_000, policy);
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        engine.frame(&frame);
    }
    let source = Source {
        file: Path::new("test"),
        info: reader.info(),
        capture_dropped: reader.capture_dropped(),
        error: None,
    };
    ReadReport::of(&engine.finish(), &source, &FlowFilter::default())
}

/// The only flow to `dst_qp`.
fn flow_to(report: &ReadReport, dst_qp: u32) -> &FlowReport {
    let mut flows = report.flows.iter().filter(|flow| flow.dst_qp == dst_qp);
    let flow = flows.next().unwrap_or_else(|| panic!("no flow to {dst_qp:#x}"));
    assert!(flows.next().is_none(), "one flow to {dst_qp:#x}");
    flow
}

fn opcodes(flow: &FlowReport) -> Vec<(&str, u64)> {
    flow.opcodes.iter().map(|(name, packets)| (name.as_ref(), *packets)).collect()
}

/// Message of a finding, or nothing.
fn finding<'a>(report: &'a ReadReport, id: &str) -> Option<&'a str> {
    let finding = report.findings.iter().find(|finding| finding.id == id)?;
    Some(&finding.message)
}
