//! A running collector as the source.

use hyper::StatusCode;

use super::http_client::GetError;
use super::{CollectorAddress, LiveError, Question, Sample};
use crate::capture::Timestamp;
use crate::http::FlowsAnswer;

/// Asks a collector.
#[derive(Debug)]
pub(super) struct Collector {
    address: CollectorAddress,
    question: Question,
    limit: usize,
    /// Interfaces that were asked for; empty for all.
    interfaces: Vec<String>,
    /// Of the last sample.
    time: Option<Timestamp>,
}

/// Why a collector gave no sample.
#[derive(Debug)]
pub(super) enum Miss {
    /// Nobody is there.
    Absent(String),
    /// It may answer the next time.
    Busy(String),
    /// It will not answer, and this is why.
    Never(LiveError),
}

impl Collector {
    pub(super) fn new(
        address: CollectorAddress,
        question: Question,
        limit: usize,
        interfaces: Vec<String>,
    ) -> Self {
        Self { address, question, limit, interfaces, time: None }
    }

    pub(super) const fn address(&self) -> &CollectorAddress {
        &self.address
    }

    /// The state of now; `None` when it has not swept since the last time.
    pub(super) async fn sample(&mut self) -> Result<Option<Sample>, Miss> {
        let answer = match self.address.get(&self.path()).await {
            Ok(answer) => answer,
            Err(error @ (GetError::Connect(_) | GetError::ConnectTimeout)) => {
                return Err(Miss::Absent(error.to_string()));
            }
            Err(error @ GetError::Timeout) => return Err(Miss::Busy(error.to_string())),
            Err(error) => return Err(self.strange(error.to_string())),
        };
        let text = || String::from_utf8_lossy(&answer.body).trim().chars().take(200).collect();
        match answer.status {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => return Err(Miss::Busy(text())),
            status => return Err(self.strange(format!("HTTP status {status}: {}", text()))),
        }
        let answer: FlowsAnswer = serde_json::from_slice(&answer.body)
            .map_err(|error| self.strange(format!("its flows cannot be read: {error}")))?;
        if answer.schema_version != FlowsAnswer::SCHEMA_VERSION {
            let (theirs, ours) = (answer.schema_version, FlowsAnswer::SCHEMA_VERSION);
            return Err(self.strange(format!("schema version {theirs}, this tool reads {ours}")));
        }
        // Before its first sweep.
        let Some(time) = answer.time else { return Ok(None) };
        if self.time == Some(time) {
            return Ok(None);
        }
        let sample = self.sample_of(answer, time)?;
        self.time = Some(time);
        Ok(Some(sample))
    }

    fn sample_of(&self, answer: FlowsAnswer, time: Timestamp) -> Result<Sample, Miss> {
        let FlowsAnswer { hooks, matching, mut flows, other_flows, blind, .. } = answer;
        self.check_interfaces(hooks.iter().map(|hook| hook.device.as_str()))?;
        let is_asked = |device: &str| {
            self.interfaces.is_empty() || self.interfaces.iter().any(|name| name == device)
        };
        let before = flows.len();
        flows.retain(|flow| flow.device.as_deref().is_none_or(is_asked));
        let mut notes = Vec::new();
        if other_flows.packets != 0 {
            notes.push(format!("{} packets found no room in the flow tables", other_flows.packets));
        }
        let taps = hooks.into_iter().filter(|hook| is_asked(&hook.device));
        Ok(Sample {
            time,
            taps: taps.collect(),
            // Of those beyond the limit nobody knows which interface they are of.
            matching: matching - (before - flows.len()).min(matching),
            flows,
            blind,
            notes,
        })
    }

    fn check_interfaces<'a>(&self, attached: impl Iterator<Item = &'a str>) -> Result<(), Miss> {
        let mut attached: Vec<_> = attached.collect();
        attached.dedup();
        let missing: Vec<_> = self
            .interfaces
            .iter()
            .map(String::as_str)
            .filter(|name| !attached.contains(name))
            .collect();
        // One that lost an interface for a moment gets it back.
        if missing.is_empty() || self.time.is_some() {
            return Ok(());
        }
        let list = |names: &[&str]| {
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        Err(Miss::Never(LiveError::OtherInterfaces {
            address: self.address.to_string(),
            missing: list(&missing),
            attached: list(&attached),
        }))
    }

    fn path(&self) -> String {
        let Question { qp, peer } = self.question;
        let qp = qp.map_or_else(String::new, |qp| format!("&qp={qp}"));
        let peer = peer.map_or_else(String::new, |peer| format!("&peer={peer}"));
        format!("/api/v1/flows?limit={}{qp}{peer}", self.limit)
    }

    fn strange(&self, reason: String) -> Miss {
        Miss::Never(LiveError::Strange { address: self.address.to_string(), reason })
    }
}

#[cfg(test)]
mod tests;
