//! Congestion marks and their answers, and traffic that is marked wrongly.

use super::connection::Connection;
use super::requester::{Requester, WRITE};
use super::script::{Scenario, Script};
use crate::packet::Ecn;

/// A WRITE stream of `messages` times 8 packets, in which a switch marks every fourth packet CE;
/// the responder answers every second mark with a CNP (DSCP 48).
pub fn congestion(connection: &Connection, messages: u32) -> Scenario {
    let mut script = Script::new("CE marks answered by CNPs");
    let mut requester = Requester::new(connection);
    for _ in 0..messages {
        let message = requester.message(WRITE, 8 * connection.pmtu);
        for (index, packet) in message.into_iter().enumerate() {
            let marked = index % 4 == 3;
            script.send(if marked { packet.ecn(Ecn::Ce) } else { packet });
            if index == 7 {
                script.send(connection.cnp());
            }
        }
        script.send(requester.acknowledge());
    }
    script.finish()
}

/// A WRITE stream with DSCP 0 and Not-ECT in both directions: it travels in the lossy class, and
/// a congested switch drops its packets instead of marking them.
pub fn wrong_marking(connection: &Connection, messages: u32) -> Scenario {
    let unmarked = Connection { dscp: 0, ecn: Ecn::NotEct, ..connection.clone() };
    let mut script = Script::new("DSCP 0 and Not-ECT");
    let mut requester = Requester::new(&unmarked);
    for _ in 0..messages {
        script.send_all(requester.message(WRITE, 4 * unmarked.pmtu));
        script.send(requester.acknowledge());
    }
    script.finish()
}
