//! What hosts count and how they are set up, as far as somebody read it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::capture::Timestamp;

/// Facts of both hosts. Everything is optional: `null` or left out is "not known", never 0.
///
/// Counters are differences over the time of the trouble, not since boot. `docs/troubleshooting.md` names
/// for each the counters of common drivers that it is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostFacts {
    /// The host whose requests failed.
    pub requester: SideFacts,
    /// The host that should have answered.
    pub responder: SideFacts,
}

/// Facts of one host and its RoCE port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SideFacts {
    /// Pause frames received on the RoCE priority (or global ones).
    pub rx_pause_frames: Option<u64>,
    /// Pause frames sent on the RoCE priority (or global ones).
    pub tx_pause_frames: Option<u64>,
    /// Share of the time in which the port was not allowed to send, 0 to 1.
    pub rx_pause_ratio: Option<f64>,
    /// Share of the time in which the port kept the other side from sending, 0 to 1.
    pub tx_pause_ratio: Option<f64>,
    /// Whether PFC is enabled on the RoCE priority.
    pub has_pfc: Option<bool>,
    /// Packets that the port received and dropped for lack of buffer.
    pub rx_discards: Option<u64>,
    /// Packets dropped because no receive was posted.
    pub out_of_buffer: Option<u64>,
    /// Requests that arrived again although they had been carried out.
    pub duplicate_requests: Option<u64>,
    /// Requests that arrived out of order.
    pub out_of_sequence: Option<u64>,
    /// Requests that were given up or sent again because no answer came in time.
    pub ack_timeouts: Option<u64>,
    /// How often the link went down.
    pub link_downs: Option<u64>,
    /// When it did last.
    pub last_link_down: Option<Timestamp>,
    /// How often the GID table changed.
    pub gid_changes: Option<u64>,
    /// Whether the GID that the queue pair uses is still in the table.
    pub has_gid: Option<bool>,
    /// MTU of the network interface.
    pub mtu: Option<u32>,
    /// Path MTU that the RDMA port is set to.
    pub active_mtu: Option<u32>,
    /// Whether the process that owns the queue pair lives.
    pub is_process_alive: Option<bool>,
}

/// A file of facts that cannot be taken.
#[derive(Debug, Error)]
pub enum FactsError {
    /// Not readable.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// Larger than any such file.
    #[error("is {0} bytes large, more than the {MAX_BYTES} of a file of facts")]
    TooLarge(u64),
    /// Not the right JSON.
    #[error("is no JSON object of facts: {0}; docs/troubleshooting.md shows the form")]
    Form(#[from] serde_json::Error),
}

const MAX_BYTES: u64 = 1 << 20;

impl HostFacts {
    /// Reads a JSON file.
    ///
    /// # Errors
    /// When it cannot be read, is too large, or has another form.
    pub fn read(path: &Path) -> Result<Self, FactsError> {
        let size = std::fs::metadata(path)?.len();
        if size > MAX_BYTES {
            return Err(FactsError::TooLarge(size));
        }
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<HostFacts, FactsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        HostFacts::read(file.path())
    }

    #[test]
    fn the_form_that_is_documented() {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/troubleshooting.md"));
        let (_, json) = text.split_once("```json\n").unwrap();
        let facts = read(json.split_once("```").unwrap().0).unwrap();
        assert_eq!(facts.responder.duplicate_requests, Some(8));
        assert_eq!(facts.requester.rx_pause_frames, Some(0), "0 is a figure");
        assert_eq!(facts.responder.rx_pause_frames, None, "left out is not known");
    }

    #[test]
    fn every_fact_is_documented() {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/troubleshooting.md"));
        let facts = serde_json::to_value(SideFacts::default()).unwrap();
        for name in facts.as_object().unwrap().keys() {
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn what_is_misspelt_is_refused() {
        let error = read(r#"{"responder": {"duplicate_request": 8}}"#).unwrap_err().to_string();
        assert!(error.contains("duplicate_request"), "{error}");
        assert!(error.contains("docs/troubleshooting.md"), "{error}");
        assert!(matches!(read("7"), Err(FactsError::Form(_))));
        let large = " ".repeat(MAX_BYTES as usize + 1);
        assert!(matches!(read(&large), Err(FactsError::TooLarge(_))));
        assert!(matches!(HostFacts::read(Path::new("/no/such/facts")), Err(FactsError::Read(_))));
    }
}
