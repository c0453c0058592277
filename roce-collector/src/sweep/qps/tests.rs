//! Who gets series, and keeps them.

use super::*;
use crate::sweep::PsnCounts;
use std::net::Ipv4Addr;

fn key(dst_qp: u32) -> QpKey {
    let host = IpAddr::from(Ipv4Addr::LOCALHOST);
    QpKey { tap: 0, src: host, dst: host, dst_qp }
}

fn qps(table: &QpTable) -> Vec<u32> {
    let mut qps: Vec<_> = table.series().map(|(key, _)| key.dst_qp).collect();
    qps.sort_unstable();
    qps
}

#[test]
fn the_worst_and_the_busiest_get_series_and_keep_them() {
    let mut table = QpTable::new(4);
    let places: Vec<_> = (0..20).map(|qp| table.open(key(qp))).collect();
    for (packets, &place) in (0..).zip(&places) {
        table.count(place, Counts { packets, ..Counts::default() });
    }
    table.count(places[3], Counts { naks: 1, ..Counts::default() });
    table.count(places[4], Counts { ce: 900, ..Counts::default() });
    table.choose();
    assert_eq!(qps(&table), [3, 4, 18, 19]);

    table.count(places[5], Counts { packets: 1000, naks: 50, ..Counts::default() });
    table.choose();
    assert_eq!(qps(&table), [3, 4, 18, 19], "no series is taken away");

    assert!(table.close(places[18]));
    table.choose();
    assert_eq!(qps(&table), [3, 4, 5, 19]);
}

#[test]
fn the_busiest_leave_room_for_those_that_get_into_trouble_later() {
    let mut table = QpTable::new(4);
    let places: Vec<_> = (0..20).map(|qp| table.open(key(qp))).collect();
    table.choose();
    assert_eq!(table.series().count(), 3);
    let late = places.iter().rev().find(|place| table.entries[place.0 as usize].series.is_none());
    let late = *late.unwrap();
    table.count(late, Counts { cnps: 1, ..Counts::default() });
    table.choose();
    assert_eq!(table.series().count(), 4);
    assert!(qps(&table).contains(&late.0));
}

fn retransmitted(packets: u64) -> Counts {
    let psns = Some(PsnCounts { retransmitted: packets, ..PsnCounts::default() });
    Counts { packets, psns, ..Counts::default() }
}

#[test]
fn losses_count_more_than_naks_and_those_more_than_marks() {
    let mut table = QpTable::new(1);
    let places: Vec<_> = (0..3).map(|qp| table.open(key(qp))).collect();
    table.count(places[0], Counts { ce: 1_000_000, ..Counts::default() });
    table.count(places[1], Counts { naks: 1000, ..Counts::default() });
    table.count(places[2], retransmitted(1));
    table.choose();
    assert_eq!(qps(&table), [2]);
}

#[test]
fn who_comes_into_trouble_takes_the_place_of_the_longest_quiet_and_keeps_it() {
    let mut table = QpTable::new(4);
    let places: Vec<_> = (0..20).map(|qp| table.open(key(qp))).collect();
    table.begin(10);
    for (packets, &place) in (0..).zip(&places) {
        table.count(place, Counts { packets, ..Counts::default() });
    }
    for qp in [3, 4] {
        table.count(places[qp], retransmitted(5));
    }
    table.choose();
    assert_eq!(qps(&table), [3, 4, 18, 19]);

    // Trouble that goes on keeps a place; a busy one without trouble loses it after five minutes.
    table.begin(300);
    table.count(places[3], retransmitted(1));
    table.count(places[7], retransmitted(1));
    table.choose();
    assert_eq!(qps(&table), [3, 4, 18, 19], "no place is older than five minutes");
    table.begin(311);
    table.count(places[7], retransmitted(1));
    table.count(places[8], Counts { ce: 500, ..Counts::default() });
    table.choose();
    assert_eq!(qps(&table), [3, 4, 7, 19], "marks alone take nobody's place");
    for second in 312..600 {
        table.begin(second);
        table.count(places[(second % 20) as usize], retransmitted(1));
        table.choose();
        let series = qps(&table);
        assert_eq!(series.len(), 4);
        assert!(series.contains(&7) && series.contains(&19), "{second}: {series:?}");
    }
}

#[test]
fn retry_ladders_are_bounded_and_end_with_their_record() {
    let mut table = QpTable::new(2);
    let places: Vec<_> = (0..5).map(|qp| table.open(key(qp))).collect();
    for (tries, &place) in (0..).zip(&places) {
        table.set_ladder(place, tries);
    }
    let tries = |table: &QpTable| {
        table.ladders().iter().map(|(key, tries)| (key.dst_qp, *tries)).collect::<Vec<_>>()
    };
    assert_eq!(tries(&table), [(4, 4), (3, 3)]);
    table.close(places[4]);
    assert_eq!(tries(&table), [(3, 3), (2, 2)]);
}

#[test]
fn a_queue_pair_lives_as_long_as_its_last_record() {
    let mut table = QpTable::new(4);
    let request = table.open(key(7));
    let response = table.open(key(7));
    assert_eq!(request, response);
    table.count(request, Counts { packets: 5, ..Counts::default() });
    assert!(!table.close(request));
    assert!(table.close(response));
    let again = table.open(key(7));
    table.choose();
    assert_eq!(table.series().next().unwrap().1, Counts::default());
    assert_eq!(again, request, "places are used again");
}
