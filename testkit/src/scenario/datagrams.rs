//! Transports beside RC.

use super::connection::Connection;
use super::requester::{Requester, SEND, WRITE};
use super::script::{Scenario, Script};
use crate::packet::{Deth, Opcode};

/// `messages` UD SENDs; every third one carries immediate data.
pub fn unreliable_datagrams(connection: &Connection, messages: u32) -> Scenario {
    let mut script = Script::new("UD");
    let deth = Deth { qkey: 0x1111_1111, src_qp: connection.requester.qp };
    for number in 0..messages {
        let immediate = number % 3 == 2;
        let opcode = if immediate { Opcode::UD_SEND_ONLY_IMM } else { Opcode::UD_SEND_ONLY };
        let packet = connection.forward(opcode).psn(connection.first_psn.wrapping_add(number));
        script.send(packet.deth(deth).immediate(number).payload_len(200));
    }
    script.finish()
}

/// `messages` UC WRITEs and SENDs of three packets each; nobody answers.
pub fn unreliable_connection(connection: &Connection, messages: u32) -> Scenario {
    let mut script = Script::new("UC");
    let mut requester = Requester::with_transport(connection, 0x20);
    for _ in 0..messages {
        script.send_all(requester.message(WRITE, 3 * connection.pmtu));
        script.send_all(requester.message(SEND, 3 * connection.pmtu));
    }
    script.finish()
}

/// `messages` XRC WRITEs with their ACKs, and a READ after each.
pub fn extended_reliable(connection: &Connection, messages: u32) -> Scenario {
    let mut script = Script::new("XRC");
    let mut requester = Requester::with_transport(connection, 0xa0);
    for _ in 0..messages {
        let message = requester.message(WRITE, 3 * connection.pmtu);
        script.send_all(message.into_iter().map(|packet| packet.xrc_srq(0x77)));
        script.send(requester.acknowledge());
        let (request, responses) = requester.read(2 * connection.pmtu);
        script.send(request.xrc_srq(0x77));
        script.send_all(responses);
    }
    script.finish()
}
