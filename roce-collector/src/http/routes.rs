//! The other routes.

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::{ServerState, flows, incidents, qps};
use crate::export::{Format, render};

pub(super) fn router(state: ServerState) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/api/v1/flows", get(flows::flows))
        .route("/api/v1/incidents", get(incidents::incidents))
        .route("/api/v1/qps", get(qps::qps))
        .with_state(state)
}

async fn metrics(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    let format = Format::accepted(headers.get(ACCEPT).and_then(|value| value.to_str().ok()));
    match render(&state.latest().snapshot, format) {
        Ok(text) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn healthz(State(state): State<ServerState>) -> (StatusCode, &'static str) {
    if state.latest().is_alive() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no sweep over the flow tables in the last 10 seconds\n")
    }
}

async fn readyz(State(state): State<ServerState>) -> (StatusCode, String) {
    let status = state.latest();
    let (code, word) = if status.is_ready() {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: nothing is attached")
    };
    let mut parts = vec![word.to_owned()];
    parts.extend(Some(status.hooks.clone()).filter(|hooks| !hooks.is_empty()));
    parts.extend(status.blind.iter().map(|blind| format!("blind: {blind}")));
    let body = parts.join("\n\n") + "\n";
    (code, body)
}
