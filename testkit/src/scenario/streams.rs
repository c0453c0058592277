//! Healthy RDMA WRITE traffic.

use super::connection::Connection;
use super::requester::{Requester, WRITE};
use super::script::{Scenario, Script};

/// `messages` WRITEs of `packets` full packets each, every one acknowledged.
pub fn write_stream(connection: &Connection, messages: u32, packets: u32) -> Scenario {
    let mut script = Script::new("healthy WRITE stream");
    let mut requester = Requester::new(connection);
    for _ in 0..messages {
        script.send_all(requester.message(WRITE, packets as usize * connection.pmtu));
        script.send(requester.acknowledge());
    }
    script.finish()
}

/// As [`write_stream`], but both sides write at the same time: in each direction, requests of one
/// PSN space share their flow with ACKs of the other.
pub fn write_both_ways(connection: &Connection, messages: u32, packets: u32) -> Scenario {
    let mut script = Script::new("healthy WRITE streams in both directions");
    // Far apart, so that a reader who mixes the two PSN spaces sees a huge gap.
    let reverse =
        Connection { first_psn: 0x80_0000 ^ connection.first_psn, ..connection.swapped() };
    let (mut there, mut back) = (Requester::new(connection), Requester::new(&reverse));
    for _ in 0..messages {
        let length = packets as usize * connection.pmtu;
        let pairs = there.message(WRITE, length).into_iter().zip(back.message(WRITE, length));
        for (one, other) in pairs {
            script.send(one);
            script.send(other);
        }
        script.send(there.acknowledge());
        script.send(back.acknowledge());
    }
    script.finish()
}
