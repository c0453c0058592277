//! `/api/v1/qps`.

use std::borrow::Cow;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{MAX_LIMIT, ServerState};
use crate::capture::Timestamp;
use crate::cli::qp_number;
use crate::inventory::{Qp, QpReport, QpSnapshot, QpState, ReadState};

/// Queue pairs in an answer, unless another limit is asked for.
const DEFAULT_LIMIT: usize = 1000;

/// Queue pairs that the kernel lists, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QpsAnswer {
    /// Version of this form.
    pub schema_version: u32,
    /// What came of the last look: `ok`, `off`, `waiting`, `no_rdma` or `failed`. Unless it is `ok`, an
    /// empty list does not mean that there are none.
    pub status: Cow<'static, str>,
    /// The same in words.
    pub message: String,
    /// Time of the last look that went well.
    pub time: Option<Timestamp>,
    /// RDMA devices.
    pub devices: Vec<DeviceReport>,
    /// Queue pairs that match, also those beyond the limit.
    pub matching: usize,
    /// The queue pairs: those in ERR first, then by device and number.
    pub qps: Vec<QpReport>,
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Name.
    pub device: String,
    /// Ports and the network interface of each, where the collector can see it.
    pub ports: Vec<PortReport>,
    /// Whether the last look had all of its queue pairs.
    pub is_whole: bool,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortReport {
    /// Number, from 1.
    pub port: u32,
    /// Network interface.
    pub netdev: Option<String>,
}

/// What may stand behind the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    qp: Option<String>,
    device: Option<String>,
    state: Option<String>,
    pid: Option<u32>,
    limit: Option<usize>,
}

impl QpsAnswer {
    /// Version of the JSON form.
    pub const SCHEMA_VERSION: u32 = 1;

    fn of(snapshot: &QpSnapshot, mut matching: Vec<&Qp>, limit: usize) -> Self {
        let total = matching.len();
        // The sort is stable: the rest keeps its order.
        matching.sort_by_key(|qp| qp.state != QpState::ERR);
        let devices = snapshot.devices.iter().map(|facts| DeviceReport {
            device: facts.device.as_ref().to_owned(),
            ports: facts
                .ports
                .iter()
                .map(|port| PortReport {
                    port: port.port,
                    netdev: port.netdev.as_deref().map(str::to_owned),
                })
                .collect(),
            is_whole: facts.is_whole,
        });
        Self {
            schema_version: Self::SCHEMA_VERSION,
            status: name(&snapshot.state).into(),
            message: snapshot.state.text().to_owned(),
            time: snapshot.looked,
            devices: devices.collect(),
            matching: total,
            qps: matching.into_iter().take(limit).map(QpReport::from).collect(),
        }
    }
}

impl Parameters {
    /// Whether a queue pair is asked for, on either of its two numbers.
    fn matches(&self, qp: &Qp, number: Option<u32>) -> bool {
        number.is_none_or(|number| qp.lqpn == number || qp.rqpn == Some(number))
            && self
                .device
                .as_deref()
                .is_none_or(|device| *qp.device == *device || qp.netdev.as_deref() == Some(device))
            && self.state.as_deref().is_none_or(|state| qp.state.name().eq_ignore_ascii_case(state))
            && self.pid.is_none_or(|pid| qp.pid() == Some(pid) || qp.task == Some(pid))
    }
}

const fn name(state: &ReadState) -> &'static str {
    match state {
        ReadState::Off => "off",
        ReadState::Waiting => "waiting",
        ReadState::NoRdma => "no_rdma",
        ReadState::Read => "ok",
        ReadState::Failed(_) => "failed",
    }
}

pub(super) async fn qps(
    State(state): State<ServerState>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<QpsAnswer>, (StatusCode, String)> {
    let bad = |message: String| (StatusCode::BAD_REQUEST, format!("{message}\n"));
    let Query(parameters) = parameters.map_err(|error| bad(error.body_text()))?;
    let number = parameters.qp.as_deref().map(qp_number).transpose();
    let number = number.map_err(|error| bad(format!("qp: {error}")))?;
    let limit = parameters.limit.unwrap_or(DEFAULT_LIMIT);
    if limit > MAX_LIMIT {
        return Err(bad(format!("limit: {limit} is more than {MAX_LIMIT}")));
    }
    if let Some(text) = &parameters.state
        && !QpState::ALL.iter().any(|state| state.name().eq_ignore_ascii_case(text))
    {
        let names: Vec<_> = QpState::ALL.iter().map(|state| state.name()).collect();
        return Err(bad(format!("state: expected one of {}", names.join(", "))));
    }
    let snapshot = state.inventory.borrow().clone();
    let matching = snapshot.qps.iter().filter(|qp| parameters.matches(qp, number)).collect();
    Ok(Json(QpsAnswer::of(&snapshot, matching, limit)))
}
