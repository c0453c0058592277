//! Grafana dashboards: their queries, judged by promtool, and the rules for panels.

use std::fs;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;
use serde_json::{Value, json};

use super::rules::{folder, promtool};

const FILE: &str = "roce-overview.json";

/// Grafana's variables, and a value that Prometheus can parse.
const VARIABLES: [(&str, &str); 7] = [
    ("$__rate_interval", "1m"),
    ("$topn", "20"),
    ("$instance", ".*"),
    ("$device", ".*"),
    ("$direction", ".*"),
    ("$src", ".*"),
    ("$dst", ".*"),
];

/// Shortest text that says something.
const MIN_DESCRIPTION: usize = 40;

pub(super) fn queries_parse(repository: &Repository) -> Result<()> {
    let queries = queries(&read(repository)?);
    ensure!(!queries.is_empty(), "dashboards/{FILE} has no query");
    let rules: Vec<_> = queries
        .iter()
        .enumerate()
        .map(|(index, query)| json!({"record": format!("check:dashboard:{index}"), "expr": query}))
        .collect();
    let groups = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    // JSON is YAML.
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().context("no temporary file")?;
    fs::write(file.path(), groups.to_string()).context("cannot write the rule file")?;
    promtool(repository, &["check", "rules", &file.path().to_string_lossy()])
}

pub(super) fn panels(repository: &Repository) -> Result<()> {
    let dashboard = read(repository)?;
    for panel in list(&dashboard, "panels") {
        let title = panel["title"].as_str().unwrap_or("(no title)");
        let kind = panel["type"].as_str().unwrap_or_default();
        let description = panel["description"].as_str().unwrap_or_default();
        ensure!(
            matches!(kind, "row" | "text") || description.len() > MIN_DESCRIPTION,
            "panel {title}: no description"
        );
        for source in [panel].into_iter().chain(list(panel, "targets")) {
            let uid = source["datasource"]["uid"].as_str().unwrap_or("${datasource}");
            ensure!(uid == "${datasource}", "panel {title}: data source {uid} of its own");
        }
    }
    for query in queries(&dashboard) {
        let makes_up = query.contains("vector(") || query.contains("absent(");
        ensure!(!makes_up, "a missing value becomes a number in: {query}");
    }
    Ok(())
}

fn read(repository: &Repository) -> Result<Value> {
    let text = fs::read_to_string(folder(repository).join(FILE))
        .with_context(|| format!("cannot read dashboards/{FILE}"))?;
    serde_json::from_str(&text).with_context(|| format!("dashboards/{FILE} is not JSON"))
}

fn queries(dashboard: &Value) -> Vec<String> {
    list(dashboard, "panels")
        .flat_map(|panel| list(panel, "targets"))
        .filter_map(|target| target["expr"].as_str())
        .map(|query| {
            VARIABLES
                .iter()
                .fold(query.to_owned(), |query, (name, value)| query.replace(name, value))
        })
        .collect()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[key].as_array().into_iter().flatten()
}
