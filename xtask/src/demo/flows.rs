//! Flows as the collector serves them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result};
use roce_testkit::http;
use roce_testkit::scenario::FlowKey;
use serde_json::Value;

use crate::table;

/// Asks for the flows at `address`, those in trouble first.
pub(super) fn fetch(address: SocketAddr) -> Result<Vec<Value>> {
    let text = http::get(address, "/api/v1/flows", &[])?.ok()?;
    let mut answer: Value = serde_json::from_str(&text).context("the flows are not JSON")?;
    match answer["flows"].take() {
        Value::Array(flows) => Ok(flows),
        other => anyhow::bail!("the answer has no list of flows: {other}"),
    }
}

pub(super) fn packets(flows: &[Value]) -> u64 {
    flows.iter().filter_map(|flow| flow["packets"].as_u64()).sum()
}

/// What the truth knows a flow by.
pub(super) fn key(flow: &Value) -> Option<FlowKey> {
    let address = |name: &str| flow[name].as_str()?.parse::<IpAddr>().ok();
    let dst_qp = u32::try_from(flow["dst_qp"].as_u64()?).ok()?;
    Some(FlowKey { src: address("src")?, dst: address("dst")?, dst_qp })
}

pub(super) fn print(flows: &[Value]) {
    let head = [
        "source",
        "destination",
        "QP",
        "packets",
        "bytes",
        "NAKs",
        "CNPs",
        "CE",
        "DSCP",
        "marking",
    ];
    table::print(head, &flows.iter().map(row).collect::<Vec<_>>());
}

fn row(flow: &Value) -> [String; 10] {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let naks: u64 = flow["naks"].as_object().into_iter().flatten().map(|(_, n)| number(n)).sum();
    let dscp: BTreeMap<_, _> = flow["dscp"].as_object().into_iter().flatten().collect();
    let marks = [("wrong DSCP", "dscp"), ("not ECN-capable", "not_ect")];
    let wrong: Vec<_> = marks
        .into_iter()
        .filter(|(_, name)| number(&flow["mismarked"][name]) > 0)
        .map(|(what, _)| what)
        .collect();
    [
        text(&flow["src"]),
        text(&flow["dst"]),
        format!("{:#x}", number(&flow["dst_qp"])),
        text(&flow["packets"]),
        text(&flow["wire_bytes"]),
        (naks + number(&flow["rnr_naks"])).to_string(),
        text(&flow["cnps"]),
        text(&flow["ecn"]["ce"]),
        dscp.keys().map(|it| it.as_str()).collect::<Vec<_>>().join(","),
        if wrong.is_empty() { "as expected".to_owned() } else { wrong.join(", ") },
    ]
}
