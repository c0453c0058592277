//! Compares `read` with `reference.json` of a folder of captures: what a slow analyser with unbounded
//! memory found. Prints every capture that differs.
//!
//! `reference.json` is an object by file name: `req_repeated` is the number of requests whose PSN was
//! sent before, `req_skipped` that of the PSNs that were missing when a higher one came; `resp_repeated`
//! and `resp_skipped` are those of READ responses. Of a file in which the analyser found no frame, only
//! that nothing is called lost is checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use roce_collector::capture::CaptureReader;
use roce_collector::flow::{FlowReport, SequenceReport};
use roce_collector::read::{Engine, FlowFilter, ReadReport, Source};
use roce_common::marking::MarkingPolicy;
use serde_json::Value;

fn main() -> anyhow::Result<ExitCode> {
    let Some(folder) = std::env::args().nth(1) else { bail!("usage: psn_reference FOLDER") };
    let folder = Path::new(&folder);
    let text = std::fs::read_to_string(folder.join("reference.json")).context("reference.json")?;
    let reference: BTreeMap<String, Value> = serde_json::from_str(&text)?;
    let (mut agree, mut differ, mut without) = (0, 0, 0);
    for (name, file) in &reference {
        let report = read(&folder.join(name)).with_context(|| name.clone())?;
        let expected = |key: &str| file.get(key).and_then(Value::as_u64).unwrap_or(0);
        let [rc, responses, other] = sums(&report);
        let missing = rc.lost + rc.unseen + rc.reordered + rc.open;
        let has_reference = expected("frames") != 0;
        let is_equal = (rc.retransmitted, missing)
            == (expected("req_repeated"), expected("req_skipped"))
            && rc.recovered == rc.lost
            && responses.retransmitted == expected("resp_repeated")
            && responses.lost + responses.reordered == expected("resp_skipped")
            && responses.recovered == responses.lost;
        let is_equal = (is_equal || !has_reference && rc.lost + responses.lost == 0)
            && rc.unseen + rc.open + rc.tap_duplicates == 0
            && responses.unseen + responses.open + responses.tap_duplicates == 0
            && other.unseen + other.open + other.tap_duplicates == 0;
        let is_quiet = [rc, responses, other] == [SequenceReport::default(); 3];
        if is_equal && has_reference {
            agree += 1;
        } else if is_equal {
            without += 1;
        } else {
            differ += 1;
        }
        if !is_equal || !is_quiet {
            println!("{} {name}\n    {file}", if is_equal { "same  " } else { "DIFFER" });
            println!("    requests  {}", words(&rc));
            println!("    responses {}", words(&responses));
            println!("    others    {}", words(&other));
        }
    }
    println!("{agree} agree, {differ} differ, {without} have no reference");
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(file: &Path) -> anyhow::Result<ReadReport> {
    let mut reader = CaptureReader::open(file)?;
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    while let Some(frame) = reader.next_frame()? {
        engine.frame(&frame);
    }
    let (info, capture_dropped) = (reader.info(), reader.capture_dropped());
    let source = Source { file, info, capture_dropped, error: None };
    Ok(ReadReport::of(&engine.finish(), &source, &FlowFilter::default()))
}

/// Sums over the requests of RC, the READ responses, and everything else that has an order.
fn sums(report: &ReadReport) -> [SequenceReport; 3] {
    let [mut requests, mut responses, mut other] = [SequenceReport::default(); 3];
    for flow in &report.flows {
        let FlowReport { transport, psn, response_psn, .. } = flow;
        if let Some(sequence) = psn.and_then(|psn| psn.sequence) {
            let sum = if transport == "RC" { &mut requests } else { &mut other };
            *sum = sum.plus(&sequence);
        }
        if let Some(sequence) = response_psn {
            responses = responses.plus(sequence);
        }
    }
    [requests, responses, other]
}

fn words(counts: &SequenceReport) -> String {
    let SequenceReport { lost, recovered, unseen, reordered, open, .. } = counts;
    let SequenceReport { retransmitted, tap_duplicates, go_back_n_episodes, timeouts, .. } = counts;
    format!(
        "lost {lost} (recovered {recovered}), unseen {unseen}, reordered {reordered}, open {open}, \
         retransmitted {retransmitted}, copies {tap_duplicates}, go-back-N {go_back_n_episodes}, \
         timeouts {timeouts}"
    )
}
