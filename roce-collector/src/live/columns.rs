//! The table of flows: which columns, how wide, and what stands in them.

use super::address::shorten;
use super::figures::{UNKNOWN, age, count, microseconds, percent, rate};
use super::piece::{GAP, Line, NARROW_GAP, Piece, Side, Tone, row};
use super::{FlowView, View};
use crate::capture::Timestamp;
use crate::sweep::PsnCounts;

/// Addresses are not cut below this width, as long as there are columns to give up.
const SHORT_ADDRESS: usize = 20;
/// Narrowest address.
const MIN_ADDRESS: usize = 9;
/// Columns up to this rank are given up before the space between columns.
const CHEAPEST: u8 = 1;
/// Columns up to this rank are given up before addresses are cut.
const CHEAP: u8 = 3;
const NEVER: u8 = u8::MAX;

/// A column.
struct Column {
    name: &'static str,
    side: Side,
    /// Narrowest width, so that the table stays calm while figures change.
    min: usize,
    /// Given up in this order where there is no room.
    rank: u8,
    cell: fn(&FlowView, Timestamp) -> Piece,
}

const fn left(name: &'static str, rank: u8, cell: fn(&FlowView, Timestamp) -> Piece) -> Column {
    Column { name, side: Side::Left, min: 0, rank, cell }
}

const fn right(
    name: &'static str,
    min: usize,
    rank: u8,
    cell: fn(&FlowView, Timestamp) -> Piece,
) -> Column {
    Column { name, side: Side::Right, min, rank, cell }
}

const DEVICE: Column = left("IF", 11, |flow, _| text(flow.report.device.as_deref()));
const DIRECTION: Column = left("DIR", 10, |flow, _| {
    text(flow.report.direction.as_deref().map(|name| if name == "ingress" { "in" } else { "out" }))
});
/// Place of the addresses in [`COLUMNS`].
const ADDRESSES: [&str; 2] = ["SOURCE", "DESTINATION"];
const COLUMNS: [Column; 19] = [
    left(ADDRESSES[0], NEVER, |flow, _| Piece::plain(flow.report.src.to_string())),
    left(ADDRESSES[1], NEVER, |flow, _| Piece::plain(flow.report.dst.to_string())),
    left("QP", NEVER, |flow, _| Piece::plain(format!("{:#x}", flow.report.dst_qp))),
    left("TYPE", 3, |flow, _| Piece::plain(flow.report.transport.to_string())),
    right("PKT/S", 5, NEVER, |flow, _| {
        known(flow.rates.map(|rates| rate(rates.packets_per_second)))
    }),
    right("BIT/S", 5, NEVER, |flow, _| known(flow.rates.map(|rates| rate(rates.bits_per_second)))),
    right("LOST", 4, 13, |flow, _| psns(flow, Tone::Bad, |psns| psns.lost)),
    right("RETX", 4, 12, |flow, _| psns(flow, Tone::Bad, |psns| psns.retransmitted)),
    right("UNSEEN", 6, 5, |flow, _| psns(flow, Tone::Plain, |psns| psns.unseen)),
    right("REORD", 5, 5, |flow, _| psns(flow, Tone::Warning, |psns| psns.reordered)),
    right("NAK", 3, NEVER, |flow, _| {
        trouble(flow.report.naks.map(|naks| naks.total()), flow, Tone::Bad)
    }),
    right("RNR", 3, 7, |flow, _| trouble(flow.report.rnr_naks, flow, Tone::Bad)),
    right("CNP", 4, 9, |flow, _| {
        let is_new = flow.growth.is_none_or(|growth| growth.cnps != 0);
        toned(count(flow.report.cnps), flow.report.cnps != 0 && is_new, Tone::Warning)
    }),
    right("CE", 5, 8, ce),
    right("RTT", 5, 6, |flow, _| known(flow.report.rtt_us.map(|rtt| microseconds(rtt.p50)))),
    left("DSCP", 4, dscps),
    left("MARK", NEVER, |flow, _| mark(flow)),
    right("PACKETS", 7, 1, |flow, _| Piece::plain(count(flow.report.packets))),
    right("SEEN", 4, 2, |flow, now| known(flow.report.last_seen.map(|time| age(now.since(time))))),
];

fn text(text: Option<&str>) -> Piece {
    Piece::plain(text.unwrap_or(UNKNOWN))
}

fn known(text: Option<String>) -> Piece {
    match text {
        Some(text) => Piece::plain(text),
        None => Piece::new(UNKNOWN, Tone::Faint),
    }
}

fn toned(text: String, is_trouble: bool, tone: Tone) -> Piece {
    Piece::new(text, if is_trouble { tone } else { Tone::Plain })
}

/// A count that is trouble while it grows, and worth a look later.
fn trouble(total: Option<u64>, flow: &FlowView, tone: Tone) -> Piece {
    let grows = flow.growth.is_none_or(|growth| growth.naks != 0);
    let tone = if grows { tone } else { Tone::Warning };
    match total {
        Some(total) => toned(count(total), total != 0, tone),
        None => Piece::new("?", Tone::Faint),
    }
}

/// What became of PSNs; not known where nobody looked.
fn psns(flow: &FlowView, tone: Tone, value: fn(&PsnCounts) -> u64) -> Piece {
    let Some(psns) = flow.report.sequence().map(PsnCounts::from) else { return known(None) };
    let total = value(&psns);
    let growth = flow.growth.map(|growth| growth.psns.map_or(0, |psns| value(&psns)));
    let is_old = growth == Some(0) && tone == Tone::Bad;
    toned(count(total), total != 0, if is_old { Tone::Warning } else { tone })
}

/// Share of this interval, or of all time where there is none.
fn ce(flow: &FlowView, _: Timestamp) -> Piece {
    let ratio = match (flow.rates, flow.report.packets) {
        (Some(rates), _) => rates.ce_ratio,
        (None, 0) => None,
        (None, packets) => Some(flow.report.ecn.ce as f64 / packets as f64),
    };
    match ratio {
        Some(ratio) => toned(percent(ratio), ratio != 0.0, Tone::Warning),
        None => known(None),
    }
}

/// The most frequent DSCPs, at most two.
fn dscps(flow: &FlowView, _: Timestamp) -> Piece {
    let mut values: Vec<_> = flow.dscp.iter().collect();
    values.sort_by_key(|(value, packets)| (std::cmp::Reverse(**packets), **value));
    let mut text: Vec<_> = values.iter().take(2).map(|(value, _)| value.to_string()).collect();
    if values.len() > 2 || flow.report.dscp_other != 0 {
        text.push("…".to_owned());
    }
    Piece::plain(text.join(","))
}

fn mark(flow: &FlowView) -> Piece {
    let text = match (flow.mismarked.dscp, flow.mismarked.not_ect) {
        (0, 0) => return Piece::plain("ok"),
        (_, 0) => "wrong dscp",
        (0, _) => "not-ect",
        _ => "dscp,not-ect",
    };
    Piece::new(text, Tone::Warning)
}

/// The table of `flows`, its header first; in as much width as it needs if there is no limit.
pub(super) fn table(view: &View, flows: &[&FlowView], width: Option<usize>) -> Vec<Line> {
    let mut columns: Vec<&Column> = Vec::with_capacity(COLUMNS.len() + 2);
    let is_one = |name: fn(&super::TapView) -> &str| {
        let mut names: Vec<_> = view.taps.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names.len() == 1
    };
    if !is_one(|tap| &tap.hook.device) {
        columns.push(&DEVICE);
    }
    if !is_one(|tap| &tap.hook.direction) {
        columns.push(&DIRECTION);
    }
    columns.extend(&COLUMNS);
    let mut cells: Vec<(&Column, Vec<Piece>)> = columns
        .into_iter()
        .map(|column| (column, flows.iter().map(|flow| (column.cell)(flow, view.time)).collect()))
        .collect();
    let gap = width.map_or(GAP, |width| fit(&mut cells, width));
    let widths: Vec<_> =
        cells.iter().map(|(column, cells)| (column.side, width_of(column, cells))).collect();
    let header = cells.iter().map(|(column, _)| Piece::new(column.name, Tone::Strong)).collect();
    let mut lines = vec![row(header, &widths, gap)];
    let mut columns: Vec<_> = cells.into_iter().map(|(_, cells)| cells.into_iter()).collect();
    lines.extend(flows.iter().map(|_| {
        let cells = columns.iter_mut().filter_map(Iterator::next);
        row(cells.collect(), &widths, gap)
    }));
    lines
}

/// Gives columns up and cuts addresses until all fits; the space between columns.
fn fit(cells: &mut Vec<(&Column, Vec<Piece>)>, width: usize) -> usize {
    let mut gap = GAP;
    loop {
        let needed = needed(cells, gap);
        if needed <= width {
            return gap;
        }
        let cheapest = cells.iter().map(|(column, _)| column.rank).min().unwrap_or(NEVER);
        if cheapest > CHEAPEST && gap == GAP {
            gap = NARROW_GAP;
            continue;
        }
        let is_address = |column: &Column| ADDRESSES.contains(&column.name);
        let addresses = cells.iter().filter(|(column, _)| is_address(column));
        let addresses: usize = addresses.map(|(column, cells)| width_of(column, cells)).sum();
        let room = (width + addresses).saturating_sub(needed) / ADDRESSES.len();
        if (cheapest > CHEAP && room >= SHORT_ADDRESS) || cheapest == NEVER {
            let addresses = cells.iter_mut().filter(|(column, _)| is_address(column));
            for cell in addresses.flat_map(|(_, cells)| cells) {
                cell.text = shorten(&cell.text, room.max(MIN_ADDRESS));
            }
            return gap;
        }
        cells.retain(|(column, _)| column.rank != cheapest);
    }
}

fn needed(cells: &[(&Column, Vec<Piece>)], gap: usize) -> usize {
    let widths = cells.iter().map(|(column, cells)| width_of(column, cells) + gap);
    widths.sum::<usize>().saturating_sub(gap)
}

fn width_of(column: &Column, cells: &[Piece]) -> usize {
    let widest = cells.iter().map(Piece::width).max().unwrap_or(0);
    widest.max(column.name.len()).max(column.min)
}

#[cfg(test)]
mod tests;
