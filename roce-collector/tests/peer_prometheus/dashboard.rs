//! Queries of the overview dashboard.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Variables, and what Grafana puts in their place when everything is selected.
const VARIABLES: [(&str, &str); 7] = [
    ("$__rate_interval", "1m"),
    ("$topn", "20"),
    ("$instance", ".*"),
    ("$device", ".*"),
    ("$direction", ".*"),
    ("$src", ".*"),
    ("$dst", ".*"),
];

/// Folder of the dashboard and the rules.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards").canonicalize().unwrap()
}

/// Every query with the title of its panel.
pub(crate) fn queries() -> Vec<(String, String)> {
    let dashboard = read();
    let queries: Vec<_> = list(&dashboard["panels"])
        .flat_map(|panel| list(&panel["targets"]).map(|target| (&panel["title"], &target["expr"])))
        .map(|(title, query)| (text(title), substitute(&text(query))))
        .collect();
    assert!(queries.len() > 30, "{} queries", queries.len());
    queries
}

/// Metric and label of every variable that lists the values of a label.
pub(crate) fn variables() -> Vec<(String, String)> {
    let dashboard = read();
    let variables: Vec<_> = list(&dashboard["templating"]["list"])
        .filter_map(|variable| variable["definition"].as_str())
        .map(|definition| {
            let inner = definition.strip_prefix("label_values(").unwrap();
            let (metric, label) = inner.strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
            (substitute(metric), label.to_owned())
        })
        .collect();
    assert_eq!(variables.len(), 5);
    variables
}

fn read() -> Value {
    let path = folder().join("roce-overview.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn substitute(query: &str) -> String {
    let replaced =
        VARIABLES.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value));
    assert!(!replaced.contains('$'), "a variable that this test does not know: {replaced}");
    replaced
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
