//! Connection manager messages: MADs to QP 1.

use std::collections::{HashMap, VecDeque};

use roce_common::flow::{FlowKey, WideKey};
use roce_common::wire::{Bth, Deth, RocePacket, Transport};

use super::Qp;

/// Requests without a reply that are remembered.
const MAX_PENDING: usize = 1024;
const MAX_CONNECTIONS: usize = 1 << 17;

/// Attribute number in a MAD, and where the messages have what (IBTA 12.6; Linux `ib_cm`).
const MAD_LEN: usize = 24;
const CM_CLASS: u8 = 0x07;
const ATTRIBUTE: usize = 16;
const REQUEST: u16 = 0x10;
const REQUEST_QP: usize = 32;
const REPLY: u16 = 0x13;
const REPLY_REMOTE_ID: usize = 4;
const REPLY_QP: usize = 12;

/// QPs that CM messages named.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Requester's communication ID with host and QP, oldest first.
    pending: VecDeque<(u32, Qp)>,
    peers: HashMap<Qp, Qp>,
}

impl Connections {
    /// Reads a datagram; the QP that a request or a reply opens.
    pub(super) fn datagram(
        &mut self,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
    ) -> Option<Qp> {
        if packet.bth.opcode().transport() != Transport::Ud || key.dest_qp() != 1 {
            return None;
        }
        let mad = frame.get(packet.bth_offset + Bth::LEN + Deth::LEN..)?;
        if mad.get(1) != Some(&CM_CLASS) {
            return None;
        }
        let attribute = u16::from_be_bytes(*mad.get(ATTRIBUTE..)?.first_chunk()?);
        let message = mad.get(MAD_LEN..)?;
        let word = |at: usize| message.get(at..)?.first_chunk().copied().map(u32::from_be_bytes);
        match attribute {
            REQUEST => {
                let qp = Qp { host: key.source, number: word(REQUEST_QP)? >> 8 };
                let id = word(0)?;
                self.pending.retain(|pending| *pending != (id, qp));
                if self.pending.len() == MAX_PENDING {
                    self.pending.pop_front();
                }
                self.pending.push_back((id, qp));
                Some(qp)
            }
            REPLY => {
                let qp = Qp { host: key.source, number: word(REPLY_QP)? >> 8 };
                let id = word(REPLY_REMOTE_ID)?;
                let is_asker =
                    |(asked, asker): &(u32, Qp)| *asked == id && asker.host == key.destination;
                let place = self.pending.iter().rposition(is_asker)?;
                let (_, asker) = self.pending.remove(place)?;
                if self.peers.len() < MAX_CONNECTIONS {
                    self.peers.insert(asker, qp);
                    self.peers.insert(qp, asker);
                }
                Some(qp)
            }
            _ => None,
        }
    }

    pub(super) fn peer_of(&self, qp: Qp) -> Option<Qp> {
        self.peers.get(&qp).copied()
    }
}
