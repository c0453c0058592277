//! `/api/v1/incidents`.

use std::net::IpAddr;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{MAX_LIMIT, ServerState};
use crate::cli::qp_number;
use crate::incident::Incident;

/// The latest incidents, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IncidentsAnswer {
    /// Version of this form.
    pub schema_version: u32,
    /// Those that match, the newest last.
    pub incidents: Vec<Incident>,
}

/// What may stand behind the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    qp: Option<String>,
    peer: Option<IpAddr>,
    limit: Option<usize>,
}

impl IncidentsAnswer {
    /// Version of the JSON form.
    pub const SCHEMA_VERSION: u32 = 1;
}

/// Whether an incident is asked for: by the number and the address of either side.
fn matches(incident: &Incident, qp: Option<u32>, peer: Option<IpAddr>) -> bool {
    let Incident { local, peer: other, .. } = incident;
    qp.is_none_or(|qp| local.qp == Some(qp) || other.qp == Some(qp))
        && peer.is_none_or(|ip| local.ip == Some(ip) || other.ip == Some(ip))
}

pub(super) async fn incidents(
    State(state): State<ServerState>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<IncidentsAnswer>, (StatusCode, String)> {
    let bad = |message: String| (StatusCode::BAD_REQUEST, format!("{message}\n"));
    let Query(parameters) = parameters.map_err(|error| bad(error.body_text()))?;
    let qp = parameters.qp.as_deref().map(qp_number).transpose();
    let qp = qp.map_err(|error| bad(format!("qp: {error}")))?;
    let limit = parameters.limit.unwrap_or(MAX_LIMIT);
    if limit > MAX_LIMIT {
        return Err(bad(format!("limit: {limit} is more than {MAX_LIMIT}")));
    }
    let latest = state.incidents.borrow().clone();
    let matching = latest.iter().rev().filter(|it| matches(it, qp, parameters.peer));
    let mut incidents: Vec<_> = matching.take(limit).map(|it| Incident::clone(it)).collect();
    incidents.reverse();
    Ok(Json(IncidentsAnswer { schema_version: IncidentsAnswer::SCHEMA_VERSION, incidents }))
}
