//! A view as one line of JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::absence::{headline, is_due, reasons};
use super::heading::ladders;
use super::{FlowView, Question, Rates, TapView, View};
use crate::capture::Timestamp;
use crate::flow::FlowReport;
use crate::http::HookReport;

/// Version of this form.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Line<'a> {
    schema_version: u32,
    time: Timestamp,
    /// Time that the rates are taken over; `null` where there are none.
    interval_s: Option<f64>,
    source: &'a str,
    hooks: Vec<Hook<'a>>,
    /// Flows that match, also those that are not listed.
    matching: usize,
    flows: Vec<Flow<'a>>,
    /// What cannot be seen, in words.
    blind: &'a [String],
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Hook<'a> {
    #[serde(flatten)]
    hook: &'a HookReport,
    /// `null` where they are not known.
    rates: Option<Rates>,
}

#[derive(Serialize)]
struct Flow<'a> {
    #[serde(flatten)]
    report: &'a FlowReport,
    /// `null` where they are not known.
    rates: Option<Rates>,
}

pub(super) fn write(
    out: &mut impl Write,
    view: &View,
    question: Question,
    source: &str,
) -> io::Result<()> {
    let mut notes = view.notes.clone();
    notes.extend(ladders(view));
    if is_due(view) {
        notes.push(headline(view, question));
        notes.extend(reasons(view, question));
    }
    let line = Line {
        schema_version: SCHEMA_VERSION,
        time: view.time,
        interval_s: view.interval.map(|interval| interval.as_secs_f64()),
        source,
        hooks: view
            .taps
            .iter()
            .map(|TapView { hook, rates, .. }| Hook { hook, rates: *rates })
            .collect(),
        matching: view.matching,
        flows: view
            .flows
            .iter()
            .map(|FlowView { report, rates, .. }| Flow { report, rates: *rates })
            .collect(),
        blind: &view.blind,
        notes,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}
