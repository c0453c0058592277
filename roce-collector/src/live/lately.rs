//! What happened to the flows of one queue pair, in words.

use super::View;
use super::piece::{Line, Piece, Tone};
use crate::capture::Timestamp;
use crate::timeline::Told;

/// Time of day, to the microsecond: places in RFC 3339.
const TIME_OF_DAY: std::ops::Range<usize> = 11..26;

/// Everything that the flows' records tell, in order of time.
pub(super) fn happenings(view: &View) -> Vec<(Option<Timestamp>, String)> {
    let mut all: Vec<_> = view
        .flows
        .iter()
        .flat_map(|flow| {
            let way = format!("{} > {:#x}", flow.report.src, flow.report.dst_qp);
            let own = flow.report.timeline.iter().flatten().map(Told::from);
            let told = flow.report.told.iter().cloned();
            own.chain(told).map(move |Told { t, what, .. }| (t, format!("{way}  {what}")))
        })
        .collect();
    all.sort();
    all
}

/// The latest happenings in at most `room` lines, the last one at the bottom.
pub(super) fn lines(view: &View, room: usize) -> Vec<Line> {
    let all = happenings(view);
    // One line is the header's, and one stands empty.
    let shown = all.len().min(room.saturating_sub(2));
    if shown == 0 {
        return Vec::new();
    }
    let latest = all.iter().skip(all.len() - shown);
    let header = match all.len() - shown {
        0 => "LATELY".to_owned(),
        more => format!("LATELY, and {more} more before"),
    };
    let lines = latest.map(|(time, what)| vec![Piece::plain(sentence(*time, what))]);
    [Line::new(), vec![Piece::new(header, Tone::Strong)]].into_iter().chain(lines).collect()
}

/// One happening on a line.
pub(super) fn sentence(time: Option<Timestamp>, what: &str) -> String {
    let time = time.map(|time| time.to_string()).unwrap_or_default();
    format!("{}  {what}", time.get(TIME_OF_DAY).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::piece::text;
    use super::super::testing::{flow, sample, view};
    use super::*;

    #[test]
    fn what_a_collector_tells_stands_in_order_of_time() {
        let mut json = serde_json::to_value(flow(0x45, 10)).unwrap();
        json["timeline"] = serde_json::json!([
            {"t": "2026-11-29T10:00:02.5Z", "what": "went back to PSN 7", "kind": "rewind", "psn": 7},
            {"t": "2026-11-29T10:00:01Z", "what": "PSN 7 missing", "kind": "gap", "psn": 7},
        ]);
        let view = view(vec![sample(1, vec![serde_json::from_value(json).unwrap()])]);
        let texts: Vec<_> = lines(&view, 10).iter().map(|line| text(line)).collect();
        assert_eq!(texts.len(), 4);
        assert!(texts[2].starts_with("10:00:01.000000") && texts[2].ends_with("PSN 7 missing"));
        assert!(texts[3].ends_with("> 0x45  went back to PSN 7"), "{texts:?}");
        assert_eq!(lines(&view, 3).len(), 3, "the latest one, under its header");
        assert!(lines(&view, 2).is_empty());

        let json = serde_json::to_value(&view.flows[0].report).unwrap();
        assert_eq!(json["timeline"][0]["kind"], "rewind", "passed on as it came");
    }
}
