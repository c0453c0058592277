//! Connection manager messages: MADs to QP 1.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use roce_common::flow::{FlowKey, WideKey};
use roce_common::wire::cm::{
    ATTRIBUTE_OFFSET, CLASS_OFFSET, CM_CLASS, MAD_LEN, REPLY, REPLY_QP_OFFSET, REQUEST,
    REQUEST_QP_OFFSET,
};
use roce_common::wire::{Bth, Deth, RocePacket, Transport};

use super::{Qp, QpEnd};
use crate::capture::Timestamp;
use crate::flow::FlowId;
use crate::timeline::{Event, Moment};

/// Requests without a reply that are remembered.
const MAX_PENDING: usize = 1024;
const MAX_CONNECTIONS: usize = 1 << 17;
/// Messages that are kept for time lines.
const MAX_EVENTS: usize = 1 << 16;

/// Further attributes, and where the messages have what (IBTA 12.6; Linux `ib_cm`).
const REQUEST_PSN: usize = 44;
const REJECT: u16 = 0x12;
const REJECT_REASON: usize = 10;
const REPLY_PSN: usize = 20;
const READY_TO_USE: u16 = 0x14;
const DISCONNECT_REQUEST: u16 = 0x15;
const DISCONNECT_QP: usize = 8;
const DISCONNECT_REPLY: u16 = 0x16;
/// Communication IDs of sender and receiver; a request has only the first.
const LOCAL_ID: usize = 0;
const REMOTE_ID: usize = 4;

/// What CM messages said.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Requester's communication ID with host and QP, oldest first.
    pending: VecDeque<(u32, Qp)>,
    peers: HashMap<Qp, Qp>,
    /// QPs by host and its communication ID.
    by_id: HashMap<([u32; 4], u32), Qp>,
    lives: HashMap<Qp, Life>,
    events: Vec<CmEvent>,
}

/// A message, as time lines show it.
#[derive(Clone, Copy, Debug)]
pub struct CmEvent {
    /// When it was seen.
    pub moment: Moment,
    /// Who sent it.
    pub sender: IpAddr,
    /// One end of the connection that it is about.
    pub end: QpEnd,
    /// What it says.
    pub event: Event,
}

/// When a connection of a QP came up and ended; of the latest, where the number was used again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    pub opened: Option<Timestamp>,
    pub closed: Option<Timestamp>,
    /// Requests and replies that named the QP.
    pub connections: u32,
}

impl Connections {
    /// Reads a datagram; the QP that a request or a reply opens, with the life that it had before.
    pub(super) fn datagram(
        &mut self,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
        moment: Moment,
    ) -> Option<(Qp, Life)> {
        if packet.bth.opcode().transport() != Transport::Ud || key.dest_qp() != 1 {
            return None;
        }
        let mad = frame.get(packet.bth_offset + Bth::LEN + Deth::LEN..)?;
        if mad.get(CLASS_OFFSET) != Some(&CM_CLASS) {
            return None;
        }
        let attribute = u16::from_be_bytes(*mad.get(ATTRIBUTE_OFFSET..)?.first_chunk()?);
        let message = mad.get(MAD_LEN..)?;
        let word = |at: usize| message.get(at..)?.first_chunk().copied().map(u32::from_be_bytes);
        let number = |at: usize| Some(word(at)? >> 8);
        match attribute {
            REQUEST => {
                let qp = Qp { host: key.source, number: number(REQUEST_QP_OFFSET)? };
                let id = word(LOCAL_ID)?;
                let psn = number(REQUEST_PSN).unwrap_or(0);
                self.keep(moment, key, qp, Event::ConnectRequest { qp: qp.number, psn });
                Some((qp, self.request(id, qp)?))
            }
            REPLY => {
                let qp = Qp { host: key.source, number: number(REPLY_QP_OFFSET)? };
                let psn = number(REPLY_PSN).unwrap_or(0);
                self.keep(moment, key, qp, Event::ConnectReply { qp: qp.number, psn });
                Some((qp, self.reply(word(LOCAL_ID)?, word(REMOTE_ID)?, key, qp)?))
            }
            READY_TO_USE | REJECT | DISCONNECT_REQUEST | DISCONNECT_REPLY => {
                let qp = self.end(key, word(LOCAL_ID)?, word(REMOTE_ID)?)?;
                let event = match attribute {
                    READY_TO_USE => Event::ReadyToUse,
                    REJECT => Event::Reject { reason: (word(REJECT_REASON - 2)? & 0xffff) as u16 },
                    DISCONNECT_REQUEST => Event::DisconnectRequest { qp: number(DISCONNECT_QP)? },
                    _ => Event::DisconnectReply,
                };
                for end in [Some(qp), self.peer_of(qp)].into_iter().flatten() {
                    let life = self.lives.entry(end).or_default();
                    if attribute == READY_TO_USE {
                        life.opened = life.opened.or(moment.time);
                    } else {
                        life.closed = life.closed.or(moment.time);
                    }
                }
                self.keep(moment, key, qp, event);
                None
            }
            _ => None,
        }
    }

    /// Takes a request; the QP's life before, unless this is a repeat.
    fn request(&mut self, id: u32, qp: Qp) -> Option<Life> {
        if self.by_id.get(&(qp.host, id)) == Some(&qp) {
            return None;
        }
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((id, qp));
        if let Some(old) = self.peers.remove(&qp) {
            self.peers.remove(&old);
        }
        Some(self.open(id, qp))
    }

    /// Takes the first reply to a request; the QP's life before.
    fn reply(&mut self, id: u32, request: u32, key: &WideKey, qp: Qp) -> Option<Life> {
        let is_asker = |(id, asker): &(u32, Qp)| *id == request && asker.host == key.destination;
        let place = self.pending.iter().rposition(is_asker)?;
        let (_, asker) = self.pending.remove(place)?;
        if self.peers.len() < MAX_CONNECTIONS {
            self.peers.insert(asker, qp);
            self.peers.insert(qp, asker);
        }
        Some(self.open(id, qp))
    }

    fn open(&mut self, id: u32, qp: Qp) -> Life {
        if self.by_id.len() == MAX_CONNECTIONS {
            return Life::default();
        }
        self.by_id.insert((qp.host, id), qp);
        let life = self.lives.entry(qp).or_default();
        let new = Life { connections: life.connections + 1, ..Life::default() };
        std::mem::replace(life, new)
    }

    /// An end of the connection with these IDs.
    fn end(&self, key: &WideKey, local: u32, remote: u32) -> Option<Qp> {
        let own = self.by_id.get(&(key.source, local));
        own.or_else(|| self.by_id.get(&(key.destination, remote))).copied()
    }

    fn keep(&mut self, moment: Moment, key: &WideKey, qp: Qp, event: Event) {
        if self.events.len() < MAX_EVENTS
            && let Some(FlowId { src, dst, .. }) = FlowId::of(key)
        {
            let ip = if qp.host == key.source { src } else { dst };
            let end = QpEnd { ip, qp: qp.number };
            self.events.push(CmEvent { moment, sender: src, end, event });
        }
    }

    pub(super) fn peer_of(&self, qp: Qp) -> Option<Qp> {
        self.peers.get(&qp).copied()
    }

    pub(super) fn life_of(&self, qp: Qp) -> Option<Life> {
        self.lives.get(&qp).copied()
    }

    /// Every message that was kept, in order.
    pub(super) fn take_events(&mut self) -> Vec<CmEvent> {
        std::mem::take(&mut self.events)
    }
}
