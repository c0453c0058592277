//! PSN figures when the tap itself spoils what it shows.

use roce_collector::flow::{FlowReport, SequenceReport};
use roce_collector::read::ReadReport;
use roce_testkit::capture::Format;
use roce_testkit::scenario::{Connection, LossAt, Scenario, all, go_back_n, reads, write_stream};

use super::{finding, read_bytes};

fn read_scenario(scenario: &Scenario, format: Format) -> ReadReport {
    read_bytes(scenario.to_pcap(format).expect("memory"))
}

/// Sum over all flows.
fn sequence(report: &ReadReport) -> SequenceReport {
    let sequences = report.flows.iter().filter_map(FlowReport::sequence);
    sequences.fold(SequenceReport::default(), |sum, sequence| sum.plus(&sequence))
}

#[test]
fn a_port_mirrored_both_ways_makes_copies_and_no_retransmissions() {
    for scenario in all() {
        let once = sequence(&read_scenario(&scenario, Format::default()));
        let mut twice = scenario.clone();
        twice.frames = scenario
            .frames
            .iter()
            .flat_map(|frame| {
                let mut copy = frame.clone();
                copy.nanos += 100;
                [frame.clone(), copy]
            })
            .collect();
        // Microseconds would make all times alike.
        let report = read_scenario(&twice, Format { nanoseconds: true, ..Format::default() });
        let doubled = sequence(&report);
        let seen = SequenceReport { tap_duplicates: 0, ..doubled };
        assert_eq!(seen, once, "{}", scenario.name);
        let tracked = report.flows.iter().any(|flow| flow.sequence().is_some());
        assert_eq!(doubled.tap_duplicates > 0, tracked, "{}", scenario.name);
    }
}

#[test]
fn what_only_the_tap_missed_is_unseen() {
    let mut scenario = write_stream(&Connection::ipv4(1), 4, 8);
    scenario.frames.remove(12);
    let report = read_scenario(&scenario, Format::default());
    assert_eq!(sequence(&report), SequenceReport { unseen: 1, ..SequenceReport::default() });
    assert_eq!(report.not_seen.suspected, Some(1));
}

#[test]
fn a_damaged_frame_advances_no_psn() {
    let mut scenario = write_stream(&Connection::ipv4(1), 4, 8);
    let frame = &mut scenario.frames[12].bytes;
    frame[14 + 20 + 8 + 10] ^= 0x08; // PSN 2048 further on, or back
    let report = read_scenario(&scenario, Format::default());
    assert_eq!(report.icrc.bad, 1);
    let sequence = sequence(&report);
    assert_eq!(sequence, SequenceReport { unseen: 1, ..SequenceReport::default() });
}

#[test]
fn nothing_is_claimed_of_one_direction_alone() {
    let connection = Connection::ipv4(1);
    let mut scenario = write_stream(&connection, 4, 8);
    scenario.frames.remove(12);
    let forward = scenario.frames[0].bytes[26..30].to_vec();
    scenario.frames.retain(|frame| frame.bytes[26..30] == forward[..]);
    let report = read_scenario(&scenario, Format::default());
    assert_eq!(sequence(&report), SequenceReport { open: 1, ..SequenceReport::default() });
    assert!(report.pairs.is_empty());
    // The rewind alone shows what was lost.
    let mut scenario = go_back_n(&connection, 3, LossAt::BeforeTap);
    scenario.frames.retain(|frame| frame.bytes[26..30] == forward[..]);
    let sequence = sequence(&read_scenario(&scenario, Format::default()));
    assert_eq!((sequence.lost, sequence.recovered, sequence.go_back_n_episodes), (3, 3, 3));
}

#[test]
fn frames_cut_before_the_length_of_a_read_open_no_gap() {
    let scenario = reads(&Connection::ipv4(1), 4, 6);
    for snaplen in 54..scenario.frames[0].bytes.len() as u32 {
        let report = read_scenario(&scenario, Format { snaplen, ..Format::default() });
        assert_eq!(sequence(&report), SequenceReport::default(), "{snaplen} bytes");
        let is_cut_short = snaplen < 14 + 20 + 8 + 12 + 16;
        assert_eq!(finding(&report, "cut_headers").is_some(), is_cut_short, "{snaplen} bytes");
    }
}

#[test]
fn a_capture_that_starts_anywhere_claims_no_loss() {
    for mut scenario in all() {
        let whole = sequence(&read_scenario(&scenario, Format::default()));
        while !scenario.frames.is_empty() {
            scenario.frames.remove(0);
            let rest = sequence(&read_scenario(&scenario, Format::default()));
            assert!(rest.lost <= whole.lost, "{}: {rest:?}", scenario.name);
            assert_eq!((rest.unseen, rest.reordered), (0, 0), "{}: {rest:?}", scenario.name);
            if scenario.frames.len() > 40 {
                scenario.frames.drain(..7); // the ends matter most
            }
        }
    }
}

#[test]
fn many_queue_pairs_between_two_hosts() {
    let scenarios = (0..150).map(|number| {
        let mut connection = Connection::ipv4(1);
        connection.requester.qp = 1000 + 7 * number;
        connection.responder.qp = 9000 + 5 * number;
        connection.first_psn = 100_000 * number;
        go_back_n(&connection, 2, LossAt::BeforeTap)
    });
    let scenario = Scenario::together("many", scenarios);
    let report = read_scenario(&scenario, Format::default());
    assert_eq!(report.pairs.len(), 150);
    for pair in &report.pairs {
        assert_eq!((pair.a.qp - 1000) / 7, (pair.b.qp - 9000) / 5, "{pair:?}");
    }
    let sequence = sequence(&report);
    assert_eq!((sequence.lost, sequence.recovered, sequence.unseen), (300, 300, 0));
    assert_eq!(sequence.go_back_n_episodes, 300);
}
