//! `/api/v1/flows`.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::mpsc::TrySendError;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::ServerState;
use crate::capture::Timestamp;
use crate::cli::qp_number;
use crate::flow::FlowReport;
use crate::read::FlowFilter;
use crate::sweep::Counts;

/// Flows in an answer, unless another limit is asked for.
const DEFAULT_LIMIT: usize = 1000;
/// Largest limit.
pub const MAX_LIMIT: usize = 10_000;
/// A sweep and the questions before this one take far less.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A question for flows, and where the answer goes.
#[derive(Debug)]
pub struct FlowsQuestion {
    /// Which flows.
    pub filter: FlowFilter,
    /// At most so many, those in trouble first.
    pub limit: usize,
    /// The answer; nobody may be waiting for it any more.
    pub answer: oneshot::Sender<FlowsAnswer>,
}

/// Flows of a running collector, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowsAnswer {
    /// Version of this form.
    pub schema_version: u32,
    /// When the tables were looked at.
    pub time: Option<Timestamp>,
    /// What is attached. A direction that is not there was not seen.
    pub hooks: Vec<HookReport>,
    /// Flows that match, also those beyond the limit.
    pub matching: usize,
    /// The flows, those in trouble first.
    pub flows: Vec<FlowReport>,
    /// Packets that are in no flow.
    pub other_flows: OtherFlowsReport,
    /// What the collector cannot see, in words.
    #[serde(default)]
    pub blind: Vec<String>,
}

/// Something that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// Interface.
    pub device: String,
    /// `ingress` or `egress`.
    pub direction: Cow<'static, str>,
    /// `xdp` or `tc`.
    pub hook: Cow<'static, str>,
    /// `native`, `generic`, `tcx` or `clsact`.
    pub mode: Cow<'static, str>,
    /// Everything it saw, in all flows; `null` where it is known to see as good as nothing.
    #[serde(default)]
    pub seen: Option<Counts>,
}

/// Packets that no table had room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFlowsReport {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
}

/// What may stand behind the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    qp: Option<String>,
    peer: Option<IpAddr>,
    limit: Option<usize>,
}

type Refusal = (StatusCode, String);

impl FlowsAnswer {
    /// Version of the JSON form.
    pub const SCHEMA_VERSION: u32 = 1;
}

impl Parameters {
    fn filter(&self) -> Result<FlowFilter, String> {
        let qp = self.qp.as_deref().map(qp_number).transpose();
        Ok(FlowFilter { qp: qp.map_err(|error| format!("qp: {error}"))?, peer: self.peer })
    }

    fn limit(&self) -> Result<usize, String> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if limit > MAX_LIMIT {
            return Err(format!("limit: {limit} is more than {MAX_LIMIT}"));
        }
        Ok(limit)
    }
}

pub(super) async fn flows(
    State(state): State<ServerState>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<FlowsAnswer>, Refusal> {
    let bad = |message: String| (StatusCode::BAD_REQUEST, format!("{message}\n"));
    let Query(parameters) = parameters.map_err(|error| bad(error.body_text()))?;
    let filter = parameters.filter().map_err(bad)?;
    let limit = parameters.limit().map_err(bad)?;

    let (answer, answered) = oneshot::channel();
    let busy = |reason: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n"));
    state.flows.try_send(FlowsQuestion { filter, limit, answer }).map_err(|error| match error {
        TrySendError::Full(_) => busy("too many questions at a time: ask again in a second"),
        TrySendError::Disconnected(_) => busy("the collector is stopping"),
    })?;
    match timeout(MAX_WAIT, answered).await {
        Ok(Ok(answer)) => Ok(Json(answer)),
        Ok(Err(_)) => Err(busy("the collector is stopping")),
        Err(_) => Err(busy("no answer in time: ask for fewer flows")),
    }
}
