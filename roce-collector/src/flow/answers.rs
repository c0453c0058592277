//! What comes back for a flow.

use std::collections::HashMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{FlowReport, NakReport};

/// Answers to the requests of a flow, and the congestion notifications that slow it: they travel the other
/// way, to the QP that sends the flow. READ responses are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswersReport {
    /// ACK packets; `null` when the capture cut them before their syndrome.
    pub acks: Option<u64>,
    /// NAK packets by code; `null` as for `acks`.
    pub naks: Option<NakReport>,
    /// RNR NAK packets; `null` as for `acks`.
    pub rnr_naks: Option<u64>,
    /// Timer that the last RNR NAK asked for, in milliseconds.
    pub rnr_timer_ms: Option<f64>,
    /// Congestion notification packets.
    pub cnps: u64,
}

impl AnswersReport {
    /// Gives each of `reports` the answers to it, where its source QP is known.
    ///
    /// `reports` are of one tap, or of both directions of one.
    pub fn assign(reports: &mut [FlowReport]) {
        let mut to: HashMap<(IpAddr, IpAddr, u32), Self> = HashMap::new();
        for report in reports.iter() {
            let answers = to.entry((report.src, report.dst, report.dst_qp)).or_insert(Self::NONE);
            answers.add(report);
        }
        for report in reports {
            let Some(src_qp) = report.src_qp.filter(|_| report.transport != "UD") else { continue };
            report.answers = to.get(&(report.dst, report.src, src_qp)).copied();
        }
    }

    const NONE: Self = Self {
        acks: Some(0),
        naks: Some(NakReport {
            psn_sequence_error: 0,
            invalid_request: 0,
            remote_access_error: 0,
            remote_operational_error: 0,
            invalid_rd_request: 0,
            unknown: 0,
        }),
        rnr_naks: Some(0),
        rnr_timer_ms: None,
        cnps: 0,
    };

    fn add(&mut self, report: &FlowReport) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.acks = sum(self.acks, report.acks);
        self.naks = self.naks.zip(report.naks).map(|(a, b)| a.plus(&b));
        self.rnr_naks = sum(self.rnr_naks, report.rnr_naks);
        self.rnr_timer_ms = self.rnr_timer_ms.or(report.rnr_timer_ms);
        self.cnps += report.cnps;
    }
}
