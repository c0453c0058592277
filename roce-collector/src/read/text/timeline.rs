//! Time lines as text.

use std::io::{self, Write};
use std::net::IpAddr;

use super::ReadReport;
use crate::timeline::{Entry, Line, duration, fold};

/// Lines shown of the beginning and of the end of a time line.
const FIRST: usize = 60;
const LAST: usize = 60;

/// Writes the time lines that the report has.
pub(super) fn timelines(out: &mut impl Write, report: &ReadReport) -> io::Result<()> {
    for pair in &report.pairs {
        let Some(entries) = &pair.timeline else { continue };
        let (a, b) = (pair.a, pair.b);
        writeln!(
            out,
            "\nTIME LINE of A = {} QP {:#x} and B = {} QP {:#x}",
            a.ip, a.qp, b.ip, b.qp
        )?;
        lines(out, entries, |src| if src == a.ip { "A > B" } else { "A < B" })?;
    }
    for flow in &report.flows {
        let Some(entries) = &flow.timeline else { continue };
        let (src, dst, qp) = (flow.src, flow.dst, flow.dst_qp);
        writeln!(
            out,
            "\nTIME LINE of {src} to {dst} QP {qp:#x}, whose other direction is not known"
        )?;
        lines(out, entries, |sender| if sender == src { ">" } else { "<" })?;
    }
    for other in &report.unconnected {
        let (ip, qp) = (other.end.ip, other.end.qp);
        writeln!(
            out,
            "\nTIME LINE of {ip} QP {qp:#x}, which only connection manager messages name"
        )?;
        lines(out, &other.timeline, |sender| if sender == ip { ">" } else { "<" })?;
    }
    Ok(())
}

fn lines(
    out: &mut impl Write,
    entries: &[Entry],
    way: impl Fn(IpAddr) -> &'static str,
) -> io::Result<()> {
    let start = entries.iter().find_map(|entry| entry.t);
    let since = start.map_or("the capture has no times".into(), |t| format!("seconds from {t}"));
    writeln!(out, "{:>12} {:>9} {:>8}  {since}", "TIME", "DELAY", "FRAME")?;
    let mut before = start;
    for line in fold(entries, FIRST, LAST) {
        match line {
            Line::Entry(entry) => {
                let micros =
                    |from: Option<_>| Some((entry.t?.since(from?).as_nanos() + 500) / 1000);
                let time = micros(start).map_or_else(String::new, |micros| {
                    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
                });
                let delay =
                    micros(before).filter(|micros| *micros > 0).map_or_else(String::new, |us| {
                        format!("+{}", duration(u64::try_from(us).unwrap_or(u64::MAX)))
                    });
                let (frame, way) = (entry.frame, way(entry.src));
                let head = format!("{time:>12} {delay:>9} {frame:>8}  {way}  ");
                super::wrapped(out, &head, head.len(), &entry.what)?;
                before = entry.t.or(before);
            }
            Line::Like { period: 1, entries } => {
                writeln!(out, "{:>33}... {entries} more like the last line ...", "")?;
            }
            Line::Like { period, entries } => {
                writeln!(out, "{:>33}... {entries} more like the last {period} lines ...", "")?;
            }
            Line::Omitted(entries) => {
                writeln!(
                    out,
                    "{:>33}... {entries} entries left out, --format json has them ...",
                    ""
                )?;
            }
        }
    }
    Ok(())
}
