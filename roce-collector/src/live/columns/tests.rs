//! What fits into which width.

use super::super::piece::text as line_text;
use super::super::testing::{flow, sample, troubled, view};
use super::*;

fn lines(view: &View, width: Option<usize>) -> Vec<String> {
    let flows: Vec<_> = view.flows.iter().collect();
    table(view, &flows, width).iter().map(|line| line_text(line)).collect()
}

fn mixed() -> View {
    let long = |mut flow: crate::flow::FlowReport| {
        flow.src = "fd00:1111:2222:3333:4444:5555:6666:7777".parse().unwrap();
        flow.dst = "fd00:1111:2222:3333:4444:5555:6666:8888".parse().unwrap();
        flow
    };
    let flows = |packets| vec![long(flow(0x00ab_cdef, packets)), troubled(0x45, packets)];
    view(vec![sample(100, flows(1000)), sample(101, flows(2000))])
}

#[test]
fn every_column_where_there_is_room() {
    let view = view(vec![
        sample(100, vec![troubled(0x45, 1000)]),
        sample(101, vec![troubled(0x45, 2000)]),
    ]);
    let expected = "\
DIR  SOURCE      DESTINATION  QP    TYPE  PKT/S  BIT/S  LOST  RETX  UNSEEN  REORD  NAK  RNR   CNP     CE     RTT  DSCP  MARK          PACKETS  SEEN
in   198.18.0.1  198.19.0.1   0x45  RC    1.00k   800k    40    80       4     20  200  100   400  25.0%  12.5µs  0     dscp,not-ect     2000   now";
    assert_eq!(lines(&view, None).join("\n"), expected);
    assert_eq!(lines(&view, Some(200)).join("\n"), expected);
}

#[test]
fn nothing_is_wider_than_the_screen() {
    let view = mixed();
    for width in 60..=200 {
        let lines = lines(&view, Some(width));
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{width}:\n{}", lines.join("\n"));
        for name in ["SOURCE", "DESTINATION", "QP", "PKT/S", "BIT/S", "NAK", "MARK"] {
            assert!(lines[0].contains(name), "{width}: {}", lines[0]);
        }
        assert!(lines[1].contains("0x45") && lines[1].contains("dscp,not-ect"), "{}", lines[1]);
    }
}

#[test]
fn unknown_figures_are_not_0() {
    let view = view(vec![sample(100, vec![flow(0x45, 1000)])]);
    let row = lines(&view, None).swap_remove(1);
    assert!(
        row.starts_with(
            "in   198.18.0.1  198.19.0.1   0x45  RC        –      –     –     –       –      –    0"
        ),
        "{row}"
    );
    assert!(row.ends_with("ok       1000     –"), "{row}");
}
