//! The other RC operations: SEND variants, READ, atomics, FLUSH and ATOMIC WRITE.

use super::connection::Connection;
use super::requester::{Operations, Requester, SEND};
use super::script::{Scenario, Script};
use crate::packet::{Aeth, AtomicEth, Opcode, Reth};

/// SENDs of one and of three packets: plain, with immediate data and with invalidate. The
/// lengths give every pad count.
pub fn sends(connection: &Connection) -> Scenario {
    let variants = [
        SEND,
        Operations { last: Opcode::RC_SEND_LAST_IMM, only: Opcode::RC_SEND_ONLY_IMM, ..SEND },
        Operations { last: Opcode::RC_SEND_LAST_INV, only: Opcode::RC_SEND_ONLY_INV, ..SEND },
    ];
    let mut script = Script::new("SEND, with immediate, with invalidate");
    let mut requester = Requester::new(connection);
    for operations in variants {
        for length in [0, 1, 2, 3, 2 * connection.pmtu + 5] {
            let message = requester.message(operations, length);
            script
                .send_all(message.into_iter().map(|packet| packet.immediate(7).invalidate(0x5678)));
            script.send(requester.acknowledge());
        }
    }
    script.finish()
}

/// READs of `packets` response packets each: the next request's PSN is that many further.
pub fn reads(connection: &Connection, messages: u32, packets: u32) -> Scenario {
    let mut script = Script::new("READ requests and responses");
    let mut requester = Requester::new(connection);
    for _ in 0..messages {
        let (request, responses) = requester.read(packets as usize * connection.pmtu);
        script.send(request);
        script.send_all(responses);
    }
    script.finish()
}

/// COMPARE SWAP and FETCH ADD, each with its atomic acknowledge.
pub fn atomics(connection: &Connection) -> Scenario {
    let mut script = Script::new("atomics");
    let mut requester = Requester::new(connection);
    for operation in [Opcode::RC_COMPARE_SWAP, Opcode::RC_FETCH_ADD] {
        let psn = requester.psn;
        let operands = AtomicEth { va: 0x1000, rkey: 0x1234, swap_add: 1, compare: 41 };
        script.send(requester.request(operation).atomic(operands).ack_req(true));
        requester.msn += 1;
        let answer = connection
            .backward(Opcode::RC_ATOMIC_ACKNOWLEDGE)
            .psn(psn)
            .aeth(Aeth::ack(requester.msn))
            .atomic_ack(41);
        script.send(answer);
    }
    script.finish()
}

/// ATOMIC WRITE, and FLUSH answered by a READ response without data.
pub fn placement(connection: &Connection) -> Scenario {
    let mut script = Script::new("ATOMIC WRITE and FLUSH");
    let mut requester = Requester::new(connection);
    let reth = Reth { va: 0x1000, rkey: 0x1234, dma_len: 8 };
    for operation in [Opcode::RC_ATOMIC_WRITE, Opcode::RC_FLUSH] {
        let psn = requester.psn;
        let request = requester.request(operation).reth(reth).feth(1).ack_req(true);
        let data = if operation == Opcode::RC_ATOMIC_WRITE { 8 } else { 0 };
        script.send(request.payload_len(data));
        requester.msn += 1;
        let answer = connection.backward(Opcode::RC_RDMA_READ_RESPONSE_ONLY);
        script.send(answer.psn(psn).aeth(Aeth::ack(requester.msn)));
    }
    script.finish()
}
