//! What happened to a connection, at every tap.

use std::collections::HashMap;

use super::{Picture, is_of};
use crate::diagnosis::Failure;
use crate::incident::TimelineEntry;
use crate::timeline::Entry;

impl Picture<'_> {
    /// Events of both directions, in order of time.
    pub fn timeline(&self, failure: &Failure) -> Vec<TimelineEntry> {
        let (Some(requester), Some(responder)) = (failure.local_ip, failure.peer_ip) else {
            return Vec::new();
        };
        let forward = self.between(requester, responder).filter(|record| is_of(record, failure));
        let requester_qp =
            failure.local_qp.or_else(|| forward.clone().find_map(|record| record.totals.peer_qp));
        let back = self
            .between(responder, requester)
            .filter(|record| Some(record.id.dst_qp) == requester_qp);
        let mut flows: HashMap<_, Option<u32>> = HashMap::new();
        for record in forward.chain(back) {
            let source_qp = flows.entry(record.id).or_default();
            *source_qp = source_qp.or(record.totals.peer_qp);
        }
        let mut entries: Vec<(u8, Entry)> = Vec::new();
        for (id, source_qp) in flows {
            let story = self.sweeper.stories.of_flow(&id, source_qp);
            entries.extend(story.into_iter().map(|entry| (id.tap, entry)));
        }
        entries.sort_by_key(|(_, entry)| entry.frame);
        let name = |tap: u8| self.devices.get(usize::from(tap / 2)).map_or("", String::as_str);
        let entry = |(tap, entry): (u8, Entry)| TimelineEntry {
            t: entry.t,
            what: format!(
                "{} to QP {:#x} at {}: {}",
                entry.src,
                entry.dst_qp,
                name(tap),
                entry.what
            ),
        };
        entries.into_iter().map(entry).collect()
    }
}
