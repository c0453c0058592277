//! A record for people, at most 100 columns wide.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::record::{ErrorRecord, Severity};
use super::text;
use super::vendor::Evidence;
use crate::read::Colours;

const WIDTH: usize = 100;
/// Of the names of fields, with the indent.
const LABEL: usize = 14;
/// Lines of the log shown.
const MAX_RAW_LINES: usize = 6;

/// Writes headline, meaning, evidence, fields and lines.
///
/// # Errors
/// Those of `out`.
pub fn write_record(
    out: &mut impl Write,
    record: &ErrorRecord,
    colours: Colours,
) -> io::Result<()> {
    let severity = record.severity();
    let name = severity.name().to_uppercase();
    let name = match colours {
        Colours::Off => name,
        Colours::On => format!("\x1b[{}m{name}\x1b[0m", colour(severity)),
    };
    writeln!(out, "{name} {}", headline(record))?;
    paragraph(out, "", record.meaning())?;
    for (label, value) in fields(record) {
        paragraph(out, label, &printable(&value))?;
    }
    for finding in record.findings() {
        paragraph(out, "finding", &finding.text)?;
    }
    for (index, line) in record.raw.lines().take(MAX_RAW_LINES).enumerate() {
        paragraph(out, if index == 0 { "log" } else { "" }, &printable(line))?;
    }
    writeln!(out)
}

fn colour(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 31,     // red
        Severity::Secondary => 33, // yellow
        Severity::Info => 36,      // cyan
    }
}

fn headline(record: &ErrorRecord) -> String {
    let mut text = String::new();
    match (record.status, &record.event) {
        (Some(status), _) => text.push_str(&status.to_string()),
        (None, Some(event)) => {
            text.push_str(event.name());
            if let Some(code) = event.code() {
                let _ = write!(text, " ({code})");
            }
        }
        (None, None) => text.push_str("status not printed"),
    }
    let _ = write!(text, ", {}, line {}", record.producer.name(), record.line);
    if record.lines > 1 {
        let _ = write!(text, " and {} more", record.lines - 1);
    }
    text
}

/// Names and values of what is known.
fn fields(record: &ErrorRecord) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    let mut put = |label, parts: &[Option<String>]| {
        let known: Vec<_> = parts.iter().flatten().map(String::as_str).collect();
        if !known.is_empty() {
            fields.push((label, known.join(", ")));
        }
    };
    let with = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
    let hex = |value: Option<u32>| value.map(|value| format!("{value:#x} ({value})"));
    put(
        "vendor code",
        &[record.vendor_code().map(|code| {
            let known = match code.evidence {
                Evidence::Official => "official",
                Evidence::Observed => "observed, not official",
                Evidence::Unknown => "meaning unknown",
            };
            match code.meaning {
                Some(meaning) => {
                    format!("{:#04x} ({}): {meaning} [{known}]", code.value, code.value)
                }
                None => format!("{:#04x} ({}): {known}", code.value, code.value),
            }
        })],
    );
    put("cause", &[record.cause().map(|cause| cause.id().to_owned())]);
    let flushed = (record.secondaries > 0).then(|| format!("{} flushed", record.secondaries));
    put("secondary", &[flushed]);
    put("time", &[record.time.map(|t| t.to_string()).or_else(|| record.time_text.clone())]);
    put(
        "process",
        &[
            record.host.clone(),
            with("pid", record.pid.map(|pid| pid.to_string())),
            with("rank", record.rank.clone()),
        ],
    );
    put("device", &[record.device.clone(), with("port", record.port.map(|p| p.to_string()))]);
    put(
        "local",
        &[
            record.local.ip.map(|ip| ip.to_string()),
            with("GID", record.local.gid.map(|gid| gid.to_string())),
            with("GID index", record.local.gid_index.map(|index| index.to_string())),
            with("QP", hex(record.local.qp)),
        ],
    );
    put(
        "peer",
        &[
            record.peer.host.clone(),
            record.peer.ip.map(|ip| ip.to_string()),
            with("port", record.peer.port.map(|port| port.to_string())),
            with("GID", record.peer.gid.map(|gid| gid.to_string())),
            with("QP", hex(record.peer.qp)),
        ],
    );
    put(
        "request",
        &[
            record.operation.clone(),
            record.request.map(str::to_owned),
            record.role.map(|role| role.name().to_owned()),
            with("work request", record.wr_id.map(|id| format!("{id:#x}"))),
            with("queue", record.queue.clone()),
            with("CQ", hex(record.cqn)),
            with("SRQ", hex(record.srqn)),
        ],
    );
    put(
        "traffic class",
        &[record
            .traffic_class
            .map(|class| format!("{class}: DSCP {}, ECN {}", class >> 2, class & 3))],
    );
    let counts = record.posted.zip(record.completed);
    put("work", &[counts.map(|(posted, done)| format!("{posted} posted, {done} completed"))]);
    put(
        "as printed",
        &[
            with("opcode", record.opcode_raw.map(|opcode| opcode.to_string())),
            with("length", record.len_raw.map(|len| len.to_string())),
            (record.opcode_raw.or(record.len_raw).is_some())
                .then(|| "garbage in a failed completion".to_owned()),
        ],
    );
    fields
}

/// A log is not trusted: what would move the cursor of a terminal is shown as what it is.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Writes `text` behind `label`, wrapped at spaces where there are any.
fn paragraph(out: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
    let mut label = label;
    let mut line = String::new();
    let mut end_line = |line: &mut String| {
        let written = writeln!(out, "  {label:<width$}{line}", width = LABEL - 2);
        label = "";
        line.clear();
        written
    };
    for mut word in text.split(' ') {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > WIDTH - LABEL {
            end_line(&mut line)?;
        }
        while columns(word) > WIDTH - LABEL {
            let head = text::start(word, WIDTH - LABEL);
            line.push_str(head);
            word = &word[head.len()..];
            end_line(&mut line)?;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        end_line(&mut line)?;
    }
    Ok(())
}

fn columns(text: &str) -> usize {
    text.chars().count()
}
