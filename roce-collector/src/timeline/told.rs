//! Entries as another program told them.

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::capture::Timestamp;

/// An [`Entry`] that came as JSON: its time and words, and all else as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// When.
    pub t: Option<Timestamp>,
    /// In words.
    pub what: String,
    /// The other fields of the entry.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

impl From<&Entry> for Told {
    fn from(entry: &Entry) -> Self {
        let Entry { t, what, .. } = entry;
        Self { t: *t, what: what.clone(), rest: serde_json::Map::new() }
    }
}
