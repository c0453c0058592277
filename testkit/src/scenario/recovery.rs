//! What a requester does when a packet is lost or the receiver is not ready.

use super::connection::Connection;
use super::requester::{Requester, SEND, WRITE};
use super::script::{Scenario, Script};
use super::truth::PsnTruth;
use crate::packet::Aeth;

/// Where a packet is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossAt {
    /// Between the requester and the tap: the tap sees a gap, and later its fill.
    BeforeTap,
    /// Between the tap and the responder: the tap sees the packet twice.
    AfterTap,
}

const TRANSFER: u32 = 8;
/// Round trip between the packet that shows the gap and the rewind.
const ROUND_TRIP: u64 = 10_000;

/// `episodes` WRITEs of 8 packets, in each of which the fourth is lost and go-back-N resends from
/// there; a healthy message follows each.
pub fn go_back_n(connection: &Connection, episodes: u32, at: LossAt) -> Scenario {
    const LOST: usize = 3;
    let mut script = Script::new("loss, NAK PSN sequence error, go-back-N");
    let mut requester = Requester::new(connection);
    let length = TRANSFER as usize * connection.pmtu;
    for _ in 0..episodes {
        let message = requester.message(WRITE, length);
        let missing = message[LOST].facts().psn;
        let seen = message
            .iter()
            .enumerate()
            .filter(|(index, _)| at == LossAt::AfterTap || *index != LOST);
        script.send_all(seen.map(|(_, packet)| packet.clone()));
        script.wait(ROUND_TRIP);
        script.send(requester.answer(missing, Aeth::nak(0, requester.msn - 1)));
        script.wait(ROUND_TRIP);
        script.send_all(message[LOST..].iter().cloned());
        script.send(requester.acknowledge());

        script.send_all(requester.message(WRITE, length));
        script.send(requester.acknowledge());
    }
    let episodes = u64::from(episodes);
    let resent = episodes * u64::from(TRANSFER - LOST as u32);
    script.psns(
        connection,
        match at {
            LossAt::BeforeTap => {
                PsnTruth { lost: episodes, recovered: episodes, retransmitted: resent - episodes }
            }
            LossAt::AfterTap => PsnTruth { retransmitted: resent, ..PsnTruth::default() },
        },
    );
    script.finish()
}

/// A WRITE of 8 packets whose ACK is seen and does not arrive: the requester sends all of it again after each
/// of `retries` timeouts of 67 ms, and is answered each time.
pub fn answers_lost(connection: &Connection, retries: u32) -> Scenario {
    const TIMEOUT: u64 = 67_108_864;
    let mut script = Script::new("answers are lost");
    let mut requester = Requester::new(connection);
    let message = requester.message(WRITE, TRANSFER as usize * connection.pmtu);
    for retry in 0..=retries {
        script.wait(if retry == 0 { 0 } else { TIMEOUT });
        script.send_all(message.iter().cloned());
        script.wait(ROUND_TRIP);
        script.send(requester.acknowledge());
    }
    let retransmitted = u64::from(retries * TRANSFER);
    script.psns(connection, PsnTruth { retransmitted, ..PsnTruth::default() });
    script.finish()
}

/// A SEND that meets `retries` receiver-not-ready NAKs (timer code 12, 0.64 ms) before a receive
/// buffer is there.
pub fn receiver_not_ready(connection: &Connection, retries: u32) -> Scenario {
    const TIMER_CODE: u8 = 12;
    const TIMER: u64 = 640_000;
    let mut script = Script::new("receiver not ready");
    let mut requester = Requester::new(connection);
    let message = requester.message(SEND, 512);
    let psn = connection.first_psn;
    for _ in 0..retries {
        script.send_all(message.iter().cloned());
        script.send(requester.answer(psn, Aeth::rnr(TIMER_CODE, requester.msn - 1)));
        script.wait(TIMER);
    }
    script.send_all(message);
    script.send(requester.acknowledge());
    script.psns(connection, PsnTruth { retransmitted: u64::from(retries), ..PsnTruth::default() });
    script.finish()
}
