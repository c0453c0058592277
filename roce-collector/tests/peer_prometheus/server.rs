//! Prometheus, and questions to it.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use roce_testkit::daemon::Daemon;
use roce_testkit::http::escape;
use roce_testkit::netns::Namespace;
use serde_json::Value;
use tempfile::TempDir;

use super::dashboard;
use super::lab::COLLECTOR;

const ADDRESS: &str = "127.0.0.1:9090";

/// A Prometheus that scrapes the collector of its namespace every two seconds.
pub(crate) struct Server<'a> {
    daemon: Daemon<'a>,
    _folder: TempDir,
}

/// A rule as Prometheus has read it.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) is_alert: bool,
    /// What its last evaluation failed by; empty when it did not.
    pub(crate) last_error: String,
}

impl<'a> Server<'a> {
    pub(crate) fn start(namespace: &'a Namespace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = ["alerts.yaml", "recording.yaml"].map(|name| dashboard::folder().join(name));
        let config = serde_json::json!({
            "global": {"scrape_interval": "2s", "evaluation_interval": "2s"},
            "rule_files": rules,
            "scrape_configs": [
                {"job_name": "roce-collector", "static_configs": [{"targets": [COLLECTOR]}]},
            ],
        });
        let file = folder.path().join("prometheus.yaml");
        fs::write(&file, config.to_string()).unwrap(); // JSON is YAML
        let mut command = namespace.command("prometheus");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={ADDRESS}"))
            .arg("--log.level=warn");
        let address: SocketAddr = ADDRESS.parse().unwrap();
        let daemon = Daemon::start(namespace, command, address, "/-/ready")
            .expect("this test needs prometheus, of the Debian package of that name");
        Self { daemon, _folder: folder }
    }

    /// How many samples of a metric that is in every scrape there are.
    pub(crate) fn scrapes(&self) -> usize {
        let data = self.ask("query", "query", "up[10m]").unwrap();
        data["result"][0]["values"].as_array().map_or(0, Vec::len)
    }

    /// The last scrape was read to its end, as OpenMetrics.
    pub(crate) fn assert_scraped(&self) {
        let targets = self.get("targets").unwrap();
        let target = &targets["activeTargets"][0];
        assert_eq!(target["health"], "up", "{target}");
        assert_eq!(target["lastError"], "", "{target}");
        assert!(!self.daemon.output().contains("level=error"), "{}", self.daemon.output());
    }

    /// Number of series that a query finds.
    pub(crate) fn series(&self, query: &str) -> Result<usize> {
        let data = self.ask("query", "query", query)?;
        data["result"].as_array().map(Vec::len).context("the answer has no result")
    }

    /// Values of a label in the series of a metric.
    pub(crate) fn label_values(&self, metric: &str, label: &str) -> Result<Vec<Value>> {
        let data = self.ask(&format!("label/{label}/values"), "match[]", metric)?;
        data.as_array().cloned().context("the answer is no list")
    }

    /// Every rule of every group.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let data = self.get("rules").unwrap();
        let groups = data["groups"].as_array().unwrap();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rules: Vec<_> = rules
            .map(|rule| Rule {
                name: text(&rule["name"]),
                query: text(&rule["query"]),
                is_alert: rule["type"] == "alerting",
                last_error: text(&rule["lastError"]),
            })
            .collect();
        assert!(rules.len() > 20, "{} rules", rules.len());
        rules
    }

    fn ask(&self, route: &str, parameter: &str, value: &str) -> Result<Value> {
        self.get(&format!("{route}?{}={}", escape(parameter), escape(value)))
    }

    fn get(&self, route: &str) -> Result<Value> {
        let response = self.daemon.get(&format!("/api/v1/{route}"))?;
        let answer: Value = serde_json::from_str(&response.body).context(response.body.clone())?;
        ensure!(answer["status"] == "success", "{answer}");
        ensure!(answer["warnings"].is_null(), "{answer}");
        Ok(answer["data"].clone())
    }
}
