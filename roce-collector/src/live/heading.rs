//! What stands above the flows: what is attached, what passes there, what cannot be seen.

use std::cmp::Reverse;

use super::figures::{UNKNOWN, percent, rate};
use super::piece::{Line, NARROW_GAP, Piece, Side, Tone, row, wrap};
use super::{FlowView, Rates, TapView, View};

/// Flows without an answer that are named.
const MAX_LADDERS: usize = 3;
/// Taps that are shown.
const MAX_TAPS: usize = 6;

const COLUMNS: [(&str, Side, usize); 9] = [
    ("TAP", Side::Left, 0),
    ("PKT/S", Side::Right, 5),
    ("BYTE/S", Side::Right, 6),
    ("LOST/S", Side::Right, 6),
    ("RETX/S", Side::Right, 6),
    ("CNP/S", Side::Right, 5),
    ("NAK/S", Side::Right, 5),
    ("CE", Side::Right, 5),
    ("MISMARK/S", Side::Right, 5),
];

/// One line for each tap under a header.
pub(super) fn taps(view: &View) -> Vec<Line> {
    let shown = &view.taps[..view.taps.len().min(MAX_TAPS)];
    let rows: Vec<_> = shown.iter().map(cells).collect();
    let widths = COLUMNS.iter().enumerate().map(|(place, (name, side, min))| {
        let widest = rows.iter().map(|row| row[place].width()).max().unwrap_or(0);
        (*side, widest.max(name.len()).max(*min))
    });
    let widths: Vec<_> = widths.collect();
    let header = COLUMNS.iter().map(|(name, ..)| Piece::new(*name, Tone::Faint)).collect();
    let mut lines = vec![row(header, &widths, NARROW_GAP)];
    lines.extend(rows.into_iter().map(|cells| row(cells.into(), &widths, NARROW_GAP)));
    let more = view.taps.len() - shown.len();
    if more != 0 {
        lines.push(vec![Piece::new(format!("and {more} more"), Tone::Faint)]);
    }
    lines
}

fn cells(tap: &TapView) -> [Piece; 9] {
    let hook = &tap.hook;
    let name = format!("{} {} {} {}", hook.device, hook.direction, hook.hook, hook.mode);
    let maybe =
        |value: fn(&Rates) -> Option<f64>, tone: Tone| match tap.rates.as_ref().and_then(value) {
            Some(value) => Piece::new(rate(value), if value == 0.0 { Tone::Plain } else { tone }),
            None => Piece::new(UNKNOWN, Tone::Faint),
        };
    let ce = match tap.rates.and_then(|rates| rates.ce_ratio) {
        Some(0.0) => Piece::plain(percent(0.0)),
        Some(ratio) => Piece::new(percent(ratio), Tone::Warning),
        None => Piece::new(UNKNOWN, Tone::Faint),
    };
    [
        Piece::plain(name),
        maybe(|rates| Some(rates.packets_per_second), Tone::Plain),
        maybe(|rates| Some(rates.bits_per_second / 8.0), Tone::Plain),
        maybe(|rates| rates.lost_per_second, Tone::Bad),
        maybe(|rates| rates.retransmitted_per_second, Tone::Bad),
        maybe(|rates| Some(rates.cnps_per_second), Tone::Warning),
        maybe(|rates| Some(rates.naks_per_second), Tone::Bad),
        ce,
        maybe(|rates| Some(rates.mismarked_per_second), Tone::Warning),
    ]
}

/// Whether the hooks see RoCE at all, and what happened to them.
pub(super) fn notes(view: &View, width: usize) -> Vec<Line> {
    let mut notes: Vec<_> =
        view.blind.iter().map(|blind| (format!("blind: {blind}"), Tone::Bad)).collect();
    if view.taps.is_empty() {
        notes.push(("nothing is attached, so nothing is seen".to_owned(), Tone::Bad));
    } else if view.blind.is_empty() {
        let packets = view.taps.iter().filter_map(|tap| tap.hook.seen).map(|seen| seen.packets);
        let note = match packets.sum::<u64>() {
            _ if view.taps.iter().any(|tap| tap.hook.seen.is_none()) => None,
            0 => Some("nothing seen yet: no RoCE packet has passed these hooks"),
            _ => Some("visible: RoCE packets pass these hooks"),
        };
        notes.extend(note.map(|note| (note.to_owned(), Tone::Faint)));
    }
    notes.extend(ladders(view).into_iter().map(|note| (note, Tone::Bad)));
    notes.extend(view.notes.iter().map(|note| (note.clone(), Tone::Warning)));
    let lines = notes.iter().flat_map(|(note, tone)| {
        wrap(note, width).into_iter().map(|line| vec![Piece::new(line, *tone)])
    });
    lines.collect()
}

/// Senders that get no answer, the most tries first.
pub(super) fn ladders(view: &View) -> Vec<String> {
    let mut ladders: Vec<_> = view
        .flows
        .iter()
        .filter_map(|FlowView { report, .. }| {
            let retries = report.retries.filter(|retries| !retries.answered);
            Some((report, retries.filter(|retries| retries.tries > 1)?))
        })
        .collect();
    ladders.sort_by_key(|(_, retries)| Reverse(retries.tries));
    let shown = ladders.iter().take(MAX_LADDERS).map(|(report, retries)| {
        format!(
            "no answer: {} is on retry {} of PSN {} to QP {:#x} of {}; a QP fails after its retry count, \
             at most 7",
            report.src, retries.tries, retries.psn, report.dst_qp, report.dst
        )
    });
    let more = ladders.len().saturating_sub(MAX_LADDERS);
    let more = (more != 0).then(|| format!("no answer: and {more} more flows"));
    shown.chain(more).collect()
}

/// What is attached, in a sentence: `eth0 (ingress xdp native, egress tc tcx)`.
pub(super) fn hooks(view: &View) -> String {
    let mut devices: Vec<(&str, Vec<String>)> = Vec::new();
    for TapView { hook, .. } in &view.taps {
        let text = format!("{} {} {}", hook.direction, hook.hook, hook.mode);
        match devices.iter_mut().find(|(device, _)| *device == hook.device) {
            Some((_, hooks)) => hooks.push(text),
            None => devices.push((&hook.device, vec![text])),
        }
    }
    if devices.is_empty() {
        return "no interface".to_owned();
    }
    let devices = devices.iter().map(|(device, hooks)| format!("{device} ({})", hooks.join(", ")));
    devices.collect::<Vec<_>>().join(", ")
}
