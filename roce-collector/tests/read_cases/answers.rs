//! What comes back for a flow stands with the flow that it is about.

use roce_collector::flow::{AnswersReport, FlowReport, NakReport};
use roce_collector::read::{Colours, FlowFilter, write_text};
use roce_testkit::capture::Format;
use roce_testkit::scenario::{Connection, congestion};

use super::{flow_to, read, read_bytes};

fn answers(flow: &FlowReport) -> AnswersReport {
    flow.answers.expect("the pair is known")
}

#[test]
fn naks_stand_with_the_requests() {
    let report = read("derived/gbn_one_loss_psn_wrap.pcap");
    let naks = NakReport { psn_sequence_error: 1, ..NakReport::default() };
    let data = answers(flow_to(&report, 0xb1));
    assert_eq!((data.acks, data.naks, data.rnr_naks), (Some(1), Some(naks), Some(0)));
    let back = answers(flow_to(&report, 0xa1));
    assert_eq!((back.acks, back.naks), (Some(0), Some(NakReport::default())));

    let report = read("derived/rnr_exhausted.pcap");
    let data = answers(flow_to(&report, 0xb3));
    assert_eq!((data.rnr_naks, data.rnr_timer_ms), (Some(8), Some(0.64)));
}

#[test]
fn a_cnp_counts_against_the_flow_that_it_slows() {
    let connection = Connection::ipv4(1);
    let scenario = congestion(&connection, 6);
    let report = read_bytes(scenario.to_pcap(Format::default()).expect("memory"));
    let data = flow_to(&report, connection.responder.qp);
    let back = flow_to(&report, connection.requester.qp);
    assert!(back.cnps > 0 && data.ecn.ce > 0, "{report:#?}");
    assert_eq!((answers(data).cnps, answers(back).cnps), (back.cnps, 0));
    assert_eq!(report.flows[0].dst_qp, data.dst_qp, "the flow in trouble comes first");

    let mut text = Vec::new();
    write_text(&mut text, &report, &FlowFilter::default(), Colours::Off).expect("memory");
    let text = String::from_utf8(text).expect("text");
    let row = text.lines().find(|line| line.starts_with("198.18.")).expect("the data flow");
    let cells: Vec<_> = row.split_whitespace().collect();
    assert!(cells.contains(&back.cnps.to_string().as_str()), "{row}");
}

#[test]
fn without_an_ack_the_port_tells_the_pair() {
    let connection = Connection::ipv4(1);
    let mut scenario = congestion(&connection, 6);
    scenario.frames.retain(|frame| frame.bytes[14 + 20 + 8] != 0x11); // RC ACKNOWLEDGE
    let report = read_bytes(scenario.to_pcap(Format::default()).expect("memory"));
    let [pair] = &report.pairs[..] else { panic!("{:#?}", report.pairs) };
    assert_eq!((pair.a.qp, pair.b.qp), (connection.requester.qp, connection.responder.qp));
    assert!((0.5..0.9).contains(&pair.confidence), "{pair:?}");
    assert!(pair.evidence[0].contains("is what Linux makes of both QP numbers"), "{pair:?}");
    let data = answers(flow_to(&report, connection.responder.qp));
    assert_eq!((data.cnps, data.acks), (6, Some(0)));

    for frame in &mut scenario.frames {
        frame.bytes[14 + 20 + 1] ^= 1; // another source port
    }
    let report = read_bytes(scenario.to_pcap(Format::default()).expect("memory"));
    assert_eq!(report.pairs, [], "no port of Linux's making");
}

#[test]
fn without_a_pair_nothing_is_assigned() {
    let report = read("derived/ce_then_cnp.pcap");
    assert!(report.flows.iter().all(|flow| flow.answers.is_none()), "no ACK tells the pair");
}
