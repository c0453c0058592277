//! Scenarios that go together.

use super::script::Scenario;
use super::{
    Connection, LossAt, answers_lost, atomics, congestion, extended_reliable, go_back_n, placement,
    reads, receiver_not_ready, sends, unreliable_connection, unreliable_datagrams, write_both_ways,
    write_stream, wrong_marking,
};
use crate::packet::VlanTag;

/// What the demo plays, each on connections of its own; `scale` 1 is about 700 frames.
pub fn demo(scale: u32) -> Vec<Scenario> {
    demo_from(scale, 0)
}

/// The same with this PSN as the first of every connection, for traffic that goes on: frames that are
/// played again would be retransmissions.
pub fn demo_from(scale: u32, first_psn: u32) -> Vec<Scenario> {
    let ipv4 = |number| Connection { first_psn, ..Connection::ipv4(number) };
    let ipv6 = |number| Connection { first_psn, ..Connection::ipv6(number) };
    vec![
        write_stream(&ipv4(1), 20 * scale, 8),
        go_back_n(&ipv4(2), 3 * scale, LossAt::BeforeTap),
        congestion(&ipv4(3), 16 * scale),
        wrong_marking(&ipv4(4), 12 * scale),
        renamed("RoCE over IPv6: WRITE", write_stream(&ipv6(5), 10 * scale, 8)),
        renamed("RoCE over IPv6: READ", reads(&ipv6(6), 4 * scale, 6)),
    ]
}

/// Every scenario once, each on connections of its own.
pub fn all() -> Vec<Scenario> {
    let tagged =
        |number, tags: &[VlanTag]| Connection { tags: tags.to_vec(), ..Connection::ipv4(number) };
    let wrapping = Connection { first_psn: 0x00ff_fffa, ..Connection::ipv4(20) };
    let (service, customer) = (VlanTag::service(10, 5), VlanTag::customer(100, 3));
    let mut all = demo(1);
    all.extend([
        write_both_ways(&Connection::ipv4(10), 5, 4),
        go_back_n(&wrapping, 1, LossAt::AfterTap),
        receiver_not_ready(&Connection::ipv4(11), 3),
        answers_lost(&Connection::ipv4(19), 3),
        sends(&Connection::ipv4(12)),
        reads(&Connection::ipv4(13), 3, 5),
        atomics(&Connection::ipv4(14)),
        placement(&Connection::ipv4(15)),
        unreliable_datagrams(&Connection::ipv4(16), 6),
        unreliable_connection(&Connection::ipv4(17), 2),
        extended_reliable(&Connection::ipv4(18), 2),
        renamed("VLAN", write_stream(&tagged(30, &[customer]), 2, 4)),
        renamed("QinQ", write_stream(&tagged(31, &[service, customer]), 2, 4)),
        renamed("RoCEv1", write_stream(&Connection::roce_v1(32), 2, 4)),
    ]);
    all
}

fn renamed(name: &'static str, scenario: Scenario) -> Scenario {
    Scenario { name, ..scenario }
}
