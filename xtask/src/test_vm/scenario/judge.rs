//! Whether the collector said what it must.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::stage::{Played, Stage};
use crate::lab::Collector;

/// Time that an incident may take behind the last thing that happened.
const INCIDENT_LIMIT: Duration = Duration::from_secs(15);
/// Time in which nothing must come.
const QUIET: Duration = Duration::from_secs(4);
/// Time in which the kernel's list must show a QP in the error state; the application keeps it for ten
/// seconds.
const OWNER_LIMIT: Duration = Duration::from_secs(8);
const POLL: Duration = Duration::from_millis(150);
/// As the kernel names the process.
const COMM: &str = "roce-verbs";

/// What must come out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    outcome: Outcome,
    /// A warning before the application prints its error.
    warning: bool,
    /// The QP in the error state, with its process.
    owner: bool,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The queue pair died, and why.
    Died(&'static str),
    /// It stands still without an error.
    Stalled,
    /// No incident at all.
    Nothing,
}

impl Expected {
    pub(super) const fn verdict(id: &'static str) -> Self {
        Self { outcome: Outcome::Died(id), warning: false, owner: false }
    }

    pub(super) const fn stalled() -> Self {
        Self { outcome: Outcome::Stalled, warning: true, owner: false }
    }

    pub(super) const fn nothing() -> Self {
        Self { outcome: Outcome::Nothing, warning: false, owner: false }
    }

    pub(super) const fn with_warning(mut self) -> Self {
        self.warning = true;
        self
    }

    pub(super) const fn with_owner(mut self) -> Self {
        self.owner = true;
        self
    }

    /// The verdict in words, and what is wrong.
    pub(super) fn judge(
        &self,
        stage: &Stage<'_>,
        played: &Played,
    ) -> Result<(String, Vec<String>)> {
        let mut faults = Vec::new();
        let owner = if self.owner { owner(played)? } else { None };
        let judged = match self.outcome {
            Outcome::Nothing => quiet(stage, &mut faults),
            Outcome::Died(id) => died(id, played, &mut faults),
            Outcome::Stalled => stalled(played, &mut faults),
        };
        for (path, name) in [
            ("incidents", "incidents.json"),
            ("flows?limit=1000", "flows.json"),
            ("qps", "qps.json"),
        ] {
            if let Ok(answer) = Collector::get(&format!("/api/v1/{path}")) {
                stage.keep(name, &answer)?;
            }
        }
        let (verdict, incident) = judged?;
        let incident = incident.unwrap_or_default();
        if self.owner && owner.or_else(|| owner_of(&incident["local"])) != Some(played.pid.into()) {
            faults.push(format!("not seen in ERR with pid {} and {COMM}", played.pid));
        }
        if self.warning {
            faults.extend(late_warning(&stage.log()?, played));
        }
        Ok((verdict, faults))
    }
}

fn quiet(stage: &Stage<'_>, faults: &mut Vec<String>) -> Result<(String, Option<Value>)> {
    std::thread::sleep(QUIET);
    let is_new = |incident: &Value| {
        let numbers = [&incident["local"]["qp"], &incident["peer"]["qp"]];
        !numbers.iter().filter_map(|it| it.as_u64()).any(|qp| stage.is_earlier(qp))
    };
    let incidents: Vec<_> = incidents()?.into_iter().filter(is_new).collect();
    let ids: Vec<_> = incidents.iter().map(verdict).collect();
    if ids.is_empty() {
        return Ok(("no incident".to_owned(), None));
    }
    faults.push(format!("an incident where there is none: {}", ids.join(", ")));
    Ok((ids.join(" "), incidents.into_iter().next()))
}

fn died(id: &str, played: &Played, faults: &mut Vec<String>) -> Result<(String, Option<Value>)> {
    if played.failure.is_none() {
        faults.push("the application did not fail".to_owned());
    }
    let Some(incident) = wait_for(played, |incident| incident["outcome"] == "died")? else {
        let is_swapped = has_swapped_sides(played)?;
        let verdict = if is_swapped { "swapped sides" } else { "no incident" };
        faults.push(verdict.to_owned());
        return Ok((verdict.to_owned(), None));
    };
    let found = verdict(&incident);
    if found != id {
        faults.push(format!("verdict {found}, not {id}"));
    }
    let status = incident["status"]["code"].as_u64();
    if let Some(failure) =
        played.failure.filter(|failure| status.is_some_and(|it| it != failure.status))
    {
        faults.push(format!("status {status:?}, not {}", failure.status));
    }
    Ok((found, Some(incident)))
}

fn stalled(played: &Played, faults: &mut Vec<String>) -> Result<(String, Option<Value>)> {
    let Some(incident) = wait_for(played, |incident| incident["outcome"] == "stalled")? else {
        faults.push("not reported as stalled".to_owned());
        return Ok(("not stalled".to_owned(), None));
    };
    let found = format!("stalled, {}", verdict(&incident));
    // In words: how often and since when.
    let has = |words: [&str; 2]| {
        let text = incident["evidence"].to_string();
        words.iter().any(|word| text.contains(word))
    };
    if !has(["tries", "times"]) || !has(["age", "since"]) {
        faults.push("no count or no age among the evidence".to_owned());
    }
    Ok((found, Some(incident)))
}

/// Whether an incident takes the side that answers for the one that failed.
fn has_swapped_sides(played: &Played) -> Result<bool> {
    Ok(incidents()?.iter().any(|incident| {
        incident["local"]["qp"].as_u64() == Some(played.peer_qp)
            && incident["peer"]["qp"].as_u64() == Some(played.qp)
    }))
}

/// The last incident of the connection once it is as wanted, or as it is when the time is up.
fn wait_for(played: &Played, is_wanted: impl Fn(&Value) -> bool) -> Result<Option<Value>> {
    let start = Instant::now();
    let mut last = None;
    while start.elapsed() < INCIDENT_LIMIT {
        let own = incidents()?.into_iter().rfind(|incident| {
            incident["local"]["qp"].as_u64() == Some(played.qp)
                || incident["peer"]["qp"].as_u64() == Some(played.peer_qp)
        });
        if let Some(incident) = own {
            if is_wanted(&incident) {
                return Ok(Some(incident));
            }
            last = Some(incident);
        }
        std::thread::sleep(POLL);
    }
    Ok(last)
}

fn incidents() -> Result<Vec<Value>> {
    let answer = Collector::get("/api/v1/incidents")?;
    Ok(answer["incidents"].as_array().cloned().unwrap_or_default())
}

fn verdict(incident: &Value) -> String {
    incident["verdict"]["id"].as_str().unwrap_or("no verdict").to_owned()
}

/// The process of the queue pair, once the collector lists it in the error state.
fn owner(played: &Played) -> Result<Option<u64>> {
    let start = Instant::now();
    while start.elapsed() < OWNER_LIMIT {
        let answer = Collector::get(&format!("/api/v1/qps?qp={}&state=ERR", played.qp))?;
        let pairs = answer["qps"].as_array().cloned().unwrap_or_default();
        if let Some(pid) = pairs.iter().find_map(owner_of) {
            return Ok(Some(pid));
        }
        std::thread::sleep(POLL);
    }
    Ok(None)
}

fn owner_of(pair: &Value) -> Option<u64> {
    (pair["comm"] == COMM).then(|| pair["pid"].as_u64())?
}

/// What is wrong with the warning of a retry ladder in the collector's log.
fn late_warning(log: &str, played: &Played) -> Option<String> {
    let warnings = log.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        let message = event["message"].as_str()?;
        let is_it = message.starts_with("retry ladder") && event["dst_qp"] == played.peer_qp;
        is_it.then(|| nanoseconds(event["timestamp"].as_str()?))?
    });
    let Some(first) = warnings.min() else {
        return Some("no warning of a retry ladder".to_owned());
    };
    let late = first.checked_sub(played.failure?.time)?;
    Some(format!("the warning comes {late} ns after the application's error"))
}

/// RFC 3339 in UTC, in nanoseconds since 1970.
fn nanoseconds(text: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Failure;

    fn played(time: &str) -> Played {
        let failure = Failure { time: nanoseconds(time).unwrap(), status: 12 };
        Played { qp: 17, peer_qp: 18, pid: 1, failure: Some(failure) }
    }

    #[test]
    fn a_warning_must_come_before_the_error() {
        let log = "not JSON\n{\"timestamp\":\"2026-11-29T12:00:01.5Z\",\"message\":\"retry ladder: ...\",\"dst_qp\":18}\n";
        assert_eq!(late_warning(log, &played("2026-11-29T12:00:02Z")), None);
        let late = late_warning(log, &played("2026-11-29T12:00:01Z")).unwrap();
        assert_eq!(late, "the warning comes 500000000 ns after the application's error");
        assert!(
            late_warning("", &played("2026-11-29T12:00:02Z")).unwrap().starts_with("no warning")
        );
    }

    #[test]
    fn an_owner_has_the_right_name() {
        assert_eq!(owner_of(&serde_json::json!({ "pid": 7, "comm": "roce-verbs" })), Some(7));
        assert_eq!(owner_of(&serde_json::json!({ "pid": 7, "comm": "other" })), None);
    }
}
