//! The table of flows.

use std::net::IpAddr;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use super::Colours;
use crate::flow::{FlowReport, SequenceReport};

const WIDTH: u16 = 120;
/// Columns whose figures stand right.
const RIGHT: [usize; 10] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

pub(super) fn table(flows: &[FlowReport], colours: Colours) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    match colours {
        Colours::Off => table.force_no_tty(),
        Colours::On => table.enforce_styling(),
    };
    let header = [
        "SOURCE",
        "DESTINATION",
        "QP",
        "TYPE",
        "PACKETS",
        "BYTES",
        "LOST",
        "UNSEEN",
        "REORD",
        "RETX",
        "NAK",
        "RNR",
        "CNP",
        "CE",
        "DSCP",
        "MARKING",
    ];
    table.set_header(header.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    for flow in flows {
        table.add_row(row(flow));
    }
    for column in RIGHT {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table
}

fn row(flow: &FlowReport) -> [Cell; 16] {
    // Where the pair is known, answers stand with the flow that they are about.
    let (naks, rnr_naks, cnps) = match &flow.answers {
        Some(answers) => (answers.naks, answers.rnr_naks, answers.cnps),
        None => (flow.naks, flow.rnr_naks, flow.cnps),
    };
    let naks = naks.map(|naks| naks.total());
    let marking = match (flow.mismarked.dscp, flow.mismarked.not_ect) {
        (0, 0) => "ok",
        (_, 0) => "DSCP",
        (0, _) => "ECT",
        _ => "DSCP, ECT",
    };
    let sequence = flow.sequence();
    let count = |counter: fn(&SequenceReport) -> u64| sequence.as_ref().map(counter);
    let marking_cell = Cell::new(marking);
    [
        Cell::new(address(flow.src)),
        Cell::new(address(flow.dst)),
        Cell::new(format!("{:#x}", flow.dst_qp)),
        Cell::new(&flow.transport),
        Cell::new(flow.packets),
        Cell::new(bytes(flow.wire_bytes)),
        sequence_cell(count(|psn| psn.lost), Some(Color::Red)),
        sequence_cell(count(|psn| psn.unseen), None),
        sequence_cell(count(|psn| psn.reordered), Some(Color::Yellow)),
        sequence_cell(count(|psn| psn.retransmitted), Some(Color::Red)),
        trouble(naks),
        trouble(rnr_naks),
        Cell::new(cnps),
        Cell::new(percent(flow.ecn.ce, flow.packets)),
        Cell::new(dscps(flow)),
        if marking == "ok" { marking_cell } else { marking_cell.fg(Color::Yellow) },
    ]
}

/// Two long IPv6 addresses do not fit into the line: each takes several, broken behind colons.
fn address(address: IpAddr) -> String {
    const WIDTH: usize = 15;
    let mut text = address.to_string();
    let mut start = 0;
    while text.len() - start > WIDTH {
        let Some(colon) = text[start..start + WIDTH].rfind(':') else { break };
        start += colon + 1;
        text.insert(start, '\n');
        start += 1;
    }
    text
}

/// A count of the PSN engine; `-` where PSNs have no order, or nobody looked.
fn sequence_cell(count: Option<u64>, colour: Option<Color>) -> Cell {
    match (count, colour) {
        (None, _) => Cell::new("-"),
        (Some(count @ 1..), Some(colour)) => Cell::new(count).fg(colour),
        (Some(count), _) => Cell::new(count),
    }
}

fn trouble(count: Option<u64>) -> Cell {
    let cell = Cell::new(known(count));
    if count.is_some_and(|count| count != 0) { cell.fg(Color::Red) } else { cell }
}

/// DSCPs, the most frequent first.
fn dscps(flow: &FlowReport) -> String {
    let mut values: Vec<_> = flow.dscp.iter().collect();
    values.sort_by_key(|(_, packets)| std::cmp::Reverse(**packets));
    let mut text = values.iter().map(|(dscp, _)| dscp.to_string()).collect::<Vec<_>>().join(" ");
    if flow.dscp_other != 0 {
        text.push_str(" ...");
    }
    text
}

/// A count, or `?` when it is not known.
pub(super) fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".into(), |count| count.to_string())
}

/// The sum, if every count is known.
pub(super) fn if_all(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.sum()
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Bytes in powers of 1000, with one decimal.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        // 999.95 would be shown as 1000.0.
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_three_digits() {
        let shown = [999, 1000, 12_345, 999_949, 999_950, 5_000_000_000].map(bytes);
        assert_eq!(shown, ["999 B", "1.0 kB", "12.3 kB", "999.9 kB", "1.0 MB", "5.0 GB"]);
    }

    #[test]
    fn long_addresses_are_broken_behind_a_colon() {
        let long = address("fd00:1111:2222:3333:4444:5555:6666:7777".parse().unwrap());
        assert_eq!(long, "fd00:1111:2222:\n3333:4444:5555:\n6666:7777");
        for short in ["2001:db8::1:a:b", "255.255.255.255"] {
            assert_eq!(address(short.parse().unwrap()), short);
        }
    }

    #[test]
    fn one_unknown_count_makes_the_sum_unknown() {
        assert_eq!(if_all([Some(1), Some(2)].into_iter()), Some(3));
        assert_eq!(if_all([Some(1), None].into_iter()), None);
        assert_eq!((known(None), percent(0, 0)), ("?".into(), "0.0%".into()));
    }
}
