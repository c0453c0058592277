//! Finds the requests of answers that the kernel has not paired by their UDP source port.
//!
//! An answer carries the PSN of a request that was sent not long ago. Where that is true of one record of
//! requests only, it is the one.

use std::collections::HashMap;

use roce_common::flow::{FlowKey, PsnSpace, WideKey};

use super::RecordSource;
use super::records::{Records, Unpaired};

/// Records of requests between two hosts that are compared for one of answers.
const MAX_CANDIDATES: usize = 64;

/// Links what can be told apart. Call it after a sweep.
pub(super) fn link_answers<K: FlowKey + Into<WideKey>>(
    records: &mut Records<K>,
    table: &dyn RecordSource<K>,
) {
    let mut requests: HashMap<WideKey, Vec<Unpaired<K>>> = HashMap::new();
    let mut answers = Vec::new();
    for unpaired in records.unpaired() {
        let connection = Into::<WideKey>::into(unpaired.key).connection();
        match unpaired.space {
            PsnSpace::Request => requests.entry(connection).or_default().push(unpaired),
            PsnSpace::Response | PsnSpace::Acknowledge => answers.push((connection, unpaired)),
        }
    }
    let mut linked = Vec::new();
    for (connection, answer) in answers {
        let Some(candidates) = requests.get(&connection) else { continue };
        let Some(psn) = table.slot(answer.index).and_then(|slot| slot.highest_psn()) else {
            continue;
        };
        let is_responses = answer.space == PsnSpace::Response;
        let fits = |requests: &&Unpaired<K>| {
            let is_free = !if is_responses { requests.has_responses } else { requests.has_peer };
            let slot = table.slot(requests.index).filter(|_| is_free);
            slot.is_some_and(|slot| slot.sequence_word().is_outstanding(psn))
        };
        let mut fitting = candidates.iter().take(MAX_CANDIDATES).filter(fits);
        if let (Some(requests), None) = (fitting.next(), fitting.next()) {
            table.link(requests.index, answer.index, answer.space);
            linked.extend([requests.index, answer.index]);
        }
    }
    for index in linked {
        records.learn_from_peer(table, index);
    }
}
