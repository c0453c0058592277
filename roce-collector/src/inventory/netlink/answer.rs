//! The answer to a dump, put together from its datagrams.

use netlink_packet_core::{NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, parse_i32};

use super::records::{Damaged, Record};

/// What could not be taken up from answers of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Messages and records that are cut off or lack what makes them one.
    pub damaged: u64,
    /// Messages that belong to another question.
    pub foreign: u64,
    /// Records beyond the limit.
    pub over_limit: u64,
}

/// The answer to one dump so far.
#[derive(Clone, Debug)]
pub struct Answer<R> {
    sequence: u32,
    limit: usize,
    /// Records, in the kernel's order.
    pub records: Vec<R>,
    /// What is missing among them.
    pub losses: Losses,
    /// Whether the kernel says that its lists changed meanwhile, so that the dump should be repeated.
    pub is_interrupted: bool,
    end: Option<i32>,
}

impl<R: Record> Answer<R> {
    /// Nothing yet, of the dump with this sequence number, for at most `limit` records.
    pub const fn new(sequence: u32, limit: usize) -> Self {
        Self {
            sequence,
            limit,
            records: Vec::new(),
            losses: Losses { damaged: 0, foreign: 0, over_limit: 0 },
            is_interrupted: false,
            end: None,
        }
    }

    /// Takes up a datagram. What is damaged is counted, the rest of it is used.
    pub fn take(&mut self, datagram: &[u8]) {
        let mut rest = datagram;
        while !rest.is_empty() && self.end.is_none() {
            let Ok(message) = NetlinkBuffer::new_checked(rest) else {
                self.losses.damaged += 1;
                return;
            };
            self.take_message(&message);
            let length = (message.length() as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn take_message(&mut self, message: &NetlinkBuffer<&[u8]>) {
        if message.sequence_number() != self.sequence {
            self.losses.foreign += 1;
            return;
        }
        self.is_interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
        match message.message_type() {
            // Both begin with a negative error number, or 0.
            NLMSG_DONE | NLMSG_ERROR => {
                let code = message.payload().get(..4).and_then(|code| parse_i32(code).ok());
                self.losses.damaged += u64::from(code.is_none());
                self.end = Some(code.map_or(0, i32::saturating_neg));
            }
            kind if kind == R::COMMAND.message_type() => {
                let Self { records, losses, limit, .. } = self;
                R::read(message.payload(), &mut |record| match record {
                    Ok(record) if records.len() < *limit => records.push(record),
                    Ok(_) => losses.over_limit += 1,
                    Err(Damaged) => losses.damaged += 1,
                });
            }
            _ => self.losses.foreign += 1,
        }
    }

    /// How the dump ended: `None` as long as more is to come, else an error number, 0 for none.
    pub const fn end(&self) -> Option<i32> {
        self.end
    }

    /// Whether every record of the dump is here.
    pub const fn is_whole(&self) -> bool {
        let Losses { damaged, foreign: _, over_limit } = self.losses;
        matches!(self.end, Some(0)) && damaged == 0 && over_limit == 0 && !self.is_interrupted
    }
}
