//! Views as plain lines, one for each flow that had packets.

use std::io::{self, Write};

use super::absence::{headline, is_due, reasons};
use super::columns::table;
use super::heading::{hooks, ladders};
use super::lately::{happenings, sentence};
use super::piece::{Line, text};
use super::{FlowView, Question, View};
use crate::capture::Timestamp;

/// Lines between two headers.
const HEADER_EVERY: usize = 40;

/// Writes views below each other.
#[derive(Debug, Default)]
pub(super) struct Plain {
    has_begun: bool,
    /// Lines since the last header.
    lines: usize,
    header: String,
    has_explained: bool,
    /// What was said already.
    said: Vec<String>,
    /// When the last happening was that was told.
    told_until: Option<Timestamp>,
}

impl Plain {
    pub(super) fn write(
        &mut self,
        out: &mut impl Write,
        view: &View,
        question: Question,
        source: &str,
    ) -> io::Result<()> {
        let is_first = !self.has_begun;
        if is_first {
            self.has_begun = true;
            writeln!(out, "{}; {source}", hooks(view))?;
        }
        self.remarks(out, view)?;
        if question.qp.is_some() {
            self.happenings(out, view)?;
        }
        let time = clock(view);
        if view.flows.is_empty() {
            writeln!(out, "{time}  {}", headline(view, question))?;
            return if is_due(view) { self.explain(out, view, question) } else { Ok(()) };
        }
        let is_active = |flow: &&FlowView| flow.growth.is_none_or(|growth| growth.packets != 0);
        // The first time all that is known, also when it was seen while the programs were attached.
        let active: Vec<_> = view.flows.iter().filter(|flow| is_first || is_active(flow)).collect();
        let idle = view.flows.len() - active.len();
        if active.is_empty() {
            writeln!(out, "{time}  no packet, {idle} idle flows")?;
            return Ok(());
        }
        self.rows(out, &time, &table(view, &active, None))?;
        let beyond = view.matching.saturating_sub(view.flows.len());
        if beyond != 0 {
            writeln!(out, "{time}  and {beyond} more flows: see --limit, --qp and --peer")?;
        }
        Ok(())
    }

    /// Says why there may be no flows, unless that was said.
    pub(super) fn explain(
        &mut self,
        out: &mut impl Write,
        view: &View,
        question: Question,
    ) -> io::Result<()> {
        if self.has_explained {
            return Ok(());
        }
        self.has_explained = true;
        writeln!(out, "What this may mean:")?;
        for reason in reasons(view, question) {
            writeln!(out, "  - {reason}")?;
        }
        Ok(())
    }

    fn remarks(&mut self, out: &mut impl Write, view: &View) -> io::Result<()> {
        let blind = view.blind.iter().map(|blind| format!("blind: {blind}"));
        let remarks: Vec<_> =
            blind.chain(ladders(view)).chain(view.notes.iter().cloned()).collect();
        for remark in remarks.iter().filter(|remark| !self.said.contains(remark)) {
            writeln!(out, "{}  {remark}", clock(view))?;
        }
        self.said = remarks;
        Ok(())
    }

    /// Says what happened since the last view.
    fn happenings(&mut self, out: &mut impl Write, view: &View) -> io::Result<()> {
        let all = happenings(view);
        for (time, what) in all.iter().filter(|(time, _)| *time > self.told_until) {
            writeln!(out, "{}", sentence(*time, what))?;
        }
        self.told_until = all.last().map_or(self.told_until, |(time, _)| *time);
        Ok(())
    }

    fn rows(&mut self, out: &mut impl Write, time: &str, table: &[Line]) -> io::Result<()> {
        let Some((header, rows)) = table.split_first() else { return Ok(()) };
        let header = text(header);
        if header != self.header || self.lines >= HEADER_EVERY {
            writeln!(out, "{:width$}  {header}", "TIME", width = time.len())?;
            self.header = header;
            self.lines = 0;
        }
        self.lines += rows.len();
        rows.iter().try_for_each(|row| writeln!(out, "{time}  {}", text(row)))
    }
}

/// Time of day in UTC, to the second.
pub(super) fn clock(view: &View) -> String {
    let time = view.time.to_string();
    format!("{}Z", time.get(11..19).unwrap_or(&time))
}
