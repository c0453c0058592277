//! The report as text, at most 120 columns wide.

mod details;
mod table;
mod timeline;

use std::io::{self, Write};

use super::findings::counted;
use super::{FlowFilter, ReadReport, Severity};
use crate::flow::{FlowReport, SequenceReport};
use crate::incident::write_incident;

/// Flows shown before the rest is only counted.
const MAX_ROWS: usize = 200;

/// Incidents shown in full.
const MAX_INCIDENTS: usize = 8;

/// Whether the output is a terminal that shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    Off,
    /// ANSI sequences.
    On,
}

/// Writes a report for people: headline, findings, flows, totals.
///
/// # Errors
/// Those of `out`.
pub fn write_text(
    out: &mut impl Write,
    report: &ReadReport,
    filter: &FlowFilter,
    colours: Colours,
) -> io::Result<()> {
    headline(out, report)?;
    incidents(out, report, colours)?;
    findings(out, report, colours)?;
    flows(out, report, filter, colours)?;
    if filter.qp.is_some() {
        details::details(out, report)?;
    } else if let Some(flow) = report.flows.first().filter(|flow| is_troubled(flow)) {
        writeln!(out, "\n--qp {:#x} shows what happened to the first flow, and when", flow.dst_qp)?;
    }
    timeline::timelines(out, report)
}

/// Whether a time line would show more than the first and the last packet.
fn is_troubled(flow: &FlowReport) -> bool {
    let psn = flow.sequence().unwrap_or_default();
    let answers = flow.answers.unwrap_or_default();
    let has_naks = answers.naks.or(flow.naks).is_some_and(|naks| naks.total() > 0)
        || answers.rnr_naks.or(flow.rnr_naks).is_some_and(|naks| naks > 0);
    let has_marks = flow.ecn.ce > 0 || answers.cnps > 0;
    has_naks
        || has_marks
        || psn.lost + psn.unseen + psn.reordered + psn.open + psn.retransmitted > 0
}

fn headline(out: &mut impl Write, report: &ReadReport) -> io::Result<()> {
    let ReadReport { input, packets, icrc, .. } = report;
    write!(out, "{}: {}", input.file, counted(packets.total, "frame"))?;
    if let (Some(first), Some(last)) = (input.first_time, input.last_time) {
        write!(out, " in {:.3} s from {first}", last.since(first).as_secs_f64())?;
    }
    writeln!(out)?;
    let malformed: u64 = packets.malformed.values().sum();
    writeln!(
        out,
        "RoCEv2 {}, RoCEv1 {}, other {}, malformed {malformed}, cut {}; ICRC good {}, bad {}, not \
         checkable {}",
        packets.roce_v2,
        packets.roce_v1,
        packets.other,
        packets.truncated,
        icrc.good,
        icrc.bad,
        icrc.not_checkable
    )?;
    let incidents = report.incidents.len() as u64;
    if incidents > 0 {
        writeln!(out, "{}: queue pairs that died or stand still", counted(incidents, "incident"))?;
    }
    if report.incidents_left_out > 0 {
        let left_out = report.incidents_left_out;
        writeln!(out, "{left_out} more failures of the log are left out: there are too many.")?;
    }
    match report.not_seen.capture_dropped {
        None => writeln!(out, "The file does not say how many packets the capture lost."),
        Some(0) => Ok(()),
        Some(dropped) => writeln!(out, "The capture lost {dropped} packets: figures are too low."),
    }
}

fn incidents(out: &mut impl Write, report: &ReadReport, colours: Colours) -> io::Result<()> {
    if report.incidents.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nINCIDENTS")?;
    for incident in report.incidents.iter().take(MAX_INCIDENTS) {
        write_incident(out, incident, colours)?;
    }
    let hidden = report.incidents.len().saturating_sub(MAX_INCIDENTS);
    if hidden > 0 {
        writeln!(out, "and {hidden} more incidents: --qp and --peer pick, --format json has all")?;
    }
    Ok(())
}

fn findings(out: &mut impl Write, report: &ReadReport, colours: Colours) -> io::Result<()> {
    if report.findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nFINDINGS")?;
    for finding in &report.findings {
        let severity = finding.severity.name().to_uppercase();
        let severity = paint(&severity, severity_colour(finding.severity), colours);
        writeln!(out, "{severity} {}", finding.id)?;
        paragraph(out, &finding.subject)?;
        paragraph(out, &finding.message)?;
        paragraph(out, &format!("fix: {}", finding.fix))?;
    }
    Ok(())
}

fn flows(
    out: &mut impl Write,
    report: &ReadReport,
    filter: &FlowFilter,
    colours: Colours,
) -> io::Result<()> {
    if report.flows.is_empty() {
        let why = if filter.is_empty() { "no RoCE packets" } else { "no flow matches" };
        return writeln!(out, "\n{why}");
    }
    let shown = &report.flows[..report.flows.len().min(MAX_ROWS)];
    writeln!(out, "\n{}", table::table(shown, colours).trim_fmt())?;
    let hidden = report.flows.len() - shown.len();
    if hidden > 0 {
        writeln!(out, "and {hidden} more flows: --qp and --peer pick, --format json has all")?;
    }
    totals(out, &report.flows)
}

fn totals(out: &mut impl Write, flows: &[FlowReport]) -> io::Result<()> {
    let sum = |counter: fn(&FlowReport) -> u64| flows.iter().map(counter).sum::<u64>();
    let packets = sum(|flow| flow.packets);
    let naks = table::if_all(flows.iter().map(|flow| Some(flow.naks?.total())));
    let rnr_naks = table::if_all(flows.iter().map(|flow| flow.rnr_naks));
    writeln!(
        out,
        "\n{}, {}, {}, NAK {}, RNR NAK {}, CNP {}, CE {}",
        counted(flows.len() as u64, "flow"),
        counted(packets, "packet"),
        table::bytes(sum(|flow| flow.wire_bytes)),
        table::known(naks),
        table::known(rnr_naks),
        sum(|flow| flow.cnps),
        table::percent(sum(|flow| flow.ecn.ce), packets),
    )?;
    let examined: Vec<_> = flows.iter().filter_map(FlowReport::sequence).collect();
    if examined.is_empty() {
        return writeln!(
            out,
            "PSNs were not examined: no flow has packets whose PSNs have an order."
        );
    }
    let psn = examined.iter().fold(SequenceReport::default(), |sum, psn| sum.plus(psn));
    let line = format!(
        "lost {} (recovered {}), unseen {}, reordered {}, open {}, retransmitted {}, copies made by the \
         tap {}, go-back-N {}, timeouts {}",
        psn.lost,
        psn.recovered,
        psn.unseen,
        psn.reordered,
        psn.open,
        psn.retransmitted,
        psn.tap_duplicates,
        psn.go_back_n_episodes,
        psn.timeouts
    );
    wrapped(out, "", 5, &line)
}

/// Writes `text` indented and wrapped at spaces.
fn paragraph(out: &mut impl Write, text: &str) -> io::Result<()> {
    const INDENT: &str = "     ";
    wrapped(out, INDENT, INDENT.len(), text)
}

/// Writes `text` behind `head`, wrapped at spaces and indented.
fn wrapped(out: &mut impl Write, head: &str, indent: usize, text: &str) -> io::Result<()> {
    const WIDTH: usize = 120;
    let mut line = head.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.len() + 1 + word.len() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{line}")
}

const fn severity_colour(severity: Severity) -> u8 {
    match severity {
        Severity::Fail => 31, // red
        Severity::Warn => 33, // yellow
        Severity::Info => 36, // cyan
    }
}

/// Wraps `text` into the ANSI foreground colour `code`.
fn paint(text: &str, code: u8, colours: Colours) -> String {
    match colours {
        Colours::Off => text.to_owned(),
        Colours::On => format!("\x1b[{code}m{text}\x1b[0m"),
    }
}
