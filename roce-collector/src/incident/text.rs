//! An incident for people, at most 100 columns wide.

use std::fmt::Write as _;
use std::io::{self, Write};

use comfy_table::{Cell, ContentArrangement, Table, presets};

use super::Incident;
use super::words::printable;
use crate::capture::Timestamp;
use crate::diagnosis::{Evidence, Outcome};
use crate::read::Colours;

const WIDTH: usize = 100;
const INDENT: usize = 2;
/// Of the seconds in a time line.
const TIME: usize = 12;

/// Writes headline, sentence, evidence, time line, what is ruled out, and next steps.
///
/// # Errors
/// Those of `out`.
pub fn write_incident(
    out: &mut impl Write,
    incident: &Incident,
    colours: Colours,
) -> io::Result<()> {
    headline(out, incident, colours)?;
    wrapped(out, "  ", INDENT, &who(incident))?;
    wrapped(out, "  ", INDENT, &printable(&incident.verdict.text))?;
    if !incident.evidence.is_empty() {
        writeln!(out, "  EVIDENCE")?;
        let table = evidence(&incident.evidence).trim_fmt();
        for line in table.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    timeline(out, incident)?;
    if !incident.ruled_out.is_empty() {
        let names: Vec<_> = incident.ruled_out.iter().map(|verdict| verdict.id()).collect();
        wrapped(out, "  RULED OUT ", INDENT + 10, &names.join(", "))?;
    }
    if !incident.next_steps.is_empty() {
        writeln!(out, "  NEXT STEPS")?;
        for (number, step) in (1..).zip(&incident.next_steps) {
            let head = format!("    {number}. ");
            wrapped(out, &head, head.len(), &printable(step))?;
        }
    }
    if let Some(recording) = &incident.recording {
        wrapped(out, "  PACKETS ", INDENT + 8, &printable(recording))?;
    }
    writeln!(out)
}

/// `DIED access_error 95%: 10.0.0.11 QP 0x45 -> 10.0.0.12 QP 0x1045`.
fn headline(out: &mut impl Write, incident: &Incident, colours: Colours) -> io::Result<()> {
    let outcome = match incident.outcome {
        Outcome::Died => "DIED",
        Outcome::Stalled => "STALLED",
        Outcome::Recovered => "RECOVERED",
        Outcome::Unknown => "IN TROUBLE",
    };
    let outcome = match (colours, incident.outcome) {
        (Colours::Off, _) => outcome.to_owned(),
        (Colours::On, Outcome::Died) => format!("\x1b[31m{outcome}\x1b[0m"),
        (Colours::On, Outcome::Recovered) => format!("\x1b[32m{outcome}\x1b[0m"),
        (Colours::On, _) => format!("\x1b[33m{outcome}\x1b[0m"),
    };
    let verdict = &incident.verdict;
    write!(out, "{outcome} {}", verdict.id.id())?;
    if verdict.confidence > 0.0 {
        write!(out, " {:.0}%", verdict.confidence * 100.0)?;
    }
    let end = |ip: Option<std::net::IpAddr>, qp: Option<u32>| {
        let ip = ip.map_or_else(|| "?".to_owned(), |ip| ip.to_string());
        let qp = qp.map_or_else(|| "?".to_owned(), |qp| format!("{qp:#x}"));
        format!("{ip} QP {qp}")
    };
    let (local, peer) = (&incident.local, &incident.peer);
    writeln!(out, ": {} -> {}", end(local.ip, local.qp), end(peer.ip, peer.qp))
}

/// Status, time, device, process, sources.
fn who(incident: &Incident) -> String {
    let mut parts = Vec::new();
    if let Some(status) = &incident.status {
        let mut text = format!("IBV_WC_{} ({})", status.name, status.code);
        if let Some(code) = &incident.vendor_err {
            let _ = write!(text, ", vendor code {} ({})", code.hex, code.value);
        }
        parts.push(text);
    }
    parts.extend(incident.time.map(|time| format!("at {time}")));
    parts.extend(incident.device.as_ref().map(|device| format!("on {}", printable(device))));
    let local = &incident.local;
    if let Some(pid) = local.pid {
        let mut text = format!("process {pid}");
        if let Some(comm) = &local.comm {
            let _ = write!(text, " ({})", printable(comm));
        }
        if let Some(pod) = &local.pod {
            let _ = write!(text, " in pod {}", printable(pod));
        }
        parts.push(text);
    }
    parts.push(format!("told by {}", incident.sources.join(", ")));
    if incident.secondaries > 0 {
        parts.push(format!("{} secondary", incident.secondaries));
    }
    parts.join(", ")
}

fn evidence(evidence: &[Evidence]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width((WIDTH - 2 * INDENT) as u16)
        .force_no_tty();
    for Evidence { what, value } in evidence {
        table.add_row([Cell::new(printable(what)), Cell::new(printable(value))]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Entries with the seconds from the failure on; what came before it has a sign.
fn timeline(out: &mut impl Write, incident: &Incident) -> io::Result<()> {
    if incident.timeline.is_empty() {
        return Ok(());
    }
    writeln!(out, "  TIME LINE")?;
    for entry in &incident.timeline {
        let seconds = entry.t.zip(incident.time).map(|(t, start)| seconds(t, start));
        let head = format!("{:>TIME$}  ", seconds.unwrap_or_default());
        wrapped(out, &head, head.len(), &printable(&entry.what))?;
    }
    Ok(())
}

/// `+1.250000` or `-90.000000`.
fn seconds(t: Timestamp, start: Timestamp) -> String {
    let (sign, apart) = if t >= start { ('+', t.since(start)) } else { ('-', start.since(t)) };
    format!("{sign}{}.{:06}", apart.as_secs(), apart.subsec_micros())
}

/// Writes `text` behind `head`, wrapped at spaces where there are any; further lines begin at `indent`.
fn wrapped(out: &mut impl Write, head: &str, indent: usize, text: &str) -> io::Result<()> {
    let columns = |text: &str| text.chars().count();
    let mut line = head.to_owned();
    let mut is_empty = true;
    for mut word in text.split(' ') {
        if !is_empty && columns(&line) + 1 + columns(word) > WIDTH {
            writeln!(out, "{}", line.trim_end())?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        while columns(&line) + columns(word) > WIDTH {
            let end =
                word.char_indices().nth(WIDTH - columns(&line)).map_or(word.len(), |(at, _)| at);
            writeln!(out, "{line}{}", &word[..end])?;
            word = &word[end..];
            line = " ".repeat(indent);
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests;
