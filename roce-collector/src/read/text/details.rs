//! What does not fit into the table, of the flows that were asked for.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::ReadReport;
use crate::flow::{AcknowledgedReport, AnswersReport, FlowReport, RetriesReport};
use crate::read::findings::counted;
use crate::timeline::duration;

/// Writes a paragraph for each flow.
pub(super) fn details(out: &mut impl Write, report: &ReadReport) -> io::Result<()> {
    for flow in &report.flows {
        let parts = parts(flow);
        if parts.is_empty() {
            continue;
        }
        writeln!(out, "\n{} -> {} QP {:#x}", flow.src, flow.dst, flow.dst_qp)?;
        for part in parts {
            super::paragraph(out, &part)?;
        }
    }
    Ok(())
}

fn parts(flow: &FlowReport) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(mtu) = flow.pmtu {
        parts.push(format!("path MTU {mtu}"));
    }
    if let Some(rtt) = flow.rtt_us {
        parts.push(format!(
            "round trip from the tap to the receiver and back: {} (median), {} (99 of 100), {}",
            micros(rtt.p50),
            micros(rtt.p99),
            counted(rtt.samples, "sample")
        ));
    }
    parts.extend(flow.answers.as_ref().filter(|_| flow.psn.is_some()).map(answers));
    parts.extend(flow.acknowledged.as_ref().map(acknowledged));
    if !flow.go_back_psns.is_empty() {
        parts.push(format!("rewinds by PSNs that they went back: {}", buckets(&flow.go_back_psns)));
    }
    if !flow.reorder_psns.is_empty() {
        let late = buckets(&flow.reorder_psns);
        parts.push(format!("late packets by PSNs that had overtaken them: {late}"));
    }
    parts.extend(flow.retries.as_ref().map(retries));
    parts
}

fn answers(answers: &AnswersReport) -> String {
    let AnswersReport { acks, naks, rnr_naks, rnr_timer_ms, cnps } = *answers;
    let known = super::table::known;
    let timer = rnr_timer_ms.map_or_else(String::new, |ms| format!(" (wait {ms} ms)"));
    format!(
        "answered by {} ACKs, {} NAKs, {} RNR NAKs{timer}; slowed by {}",
        known(acks),
        known(naks.map(|naks| naks.total())),
        known(rnr_naks),
        counted(cnps, "CNP")
    )
}

fn acknowledged(acknowledged: &AcknowledgedReport) -> String {
    let AcknowledgedReport { psn, msn, credits, psns_per_answer } = *acknowledged;
    let credits = credits.map_or_else(|| "not used".into(), |code| format!("code {code}"));
    format!(
        "acknowledged up to PSN {psn}, MSN {msn}; {psns_per_answer} PSNs an answer; credits {credits}"
    )
}

fn retries(retries: &RetriesReport) -> String {
    let RetriesReport { psn, tries, spacing_ms, longest_silence_ms, answered } = *retries;
    let end = if answered { "answered in the end" } else { "not answered until the end" };
    let tries = if tries == 1 { "1 try".into() } else { format!("{tries} tries") };
    format!(
        "longest retry ladder: {tries} of PSN {psn}, the last one after {spacing_ms:.1} ms, longest silence \
         {longest_silence_ms} ms; {end}"
    )
}

/// `1 or more: 3, 4 or more: 2`.
fn buckets(buckets: &BTreeMap<u32, u64>) -> String {
    let shown: Vec<_> =
        buckets.iter().map(|(from, count)| format!("{from} or more: {count}")).collect();
    shown.join(", ")
}

fn micros(value: f64) -> String {
    duration(value.round() as u64)
}
