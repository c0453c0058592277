//! What came of the runs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::table;

const FILE: &str = "results.jsonl";

/// One run of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunResult {
    pub(super) scenario: String,
    pub(super) run: u64,
    /// The verdict, or what stood in its place.
    pub(super) verdict: String,
    /// What was not as it must be; empty when all was right.
    pub(super) faults: Vec<String>,
    pub(super) seconds: f64,
}

impl RunResult {
    /// Adds it to the results in `folder`.
    pub(super) fn append(&self, folder: &Path) -> Result<()> {
        let Self { scenario, run, verdict, faults, seconds } = self;
        let line = json!({ "scenario": scenario, "run": run, "verdict": verdict, "faults": faults,
                           "seconds": seconds });
        let file = OpenOptions::new().create(true).append(true).open(folder.join(FILE));
        writeln!(file.context("cannot open the results")?, "{line}")
            .context("cannot write a result")
    }

    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let faults = value["faults"].as_array()?.iter().filter_map(Value::as_str);
        Some(Self {
            scenario: value["scenario"].as_str()?.to_owned(),
            run: value["run"].as_u64()?,
            verdict: value["verdict"].as_str()?.to_owned(),
            faults: faults.map(str::to_owned).collect(),
            seconds: value["seconds"].as_f64()?,
        })
    }
}

/// All runs of a guest, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Results(Vec<RunResult>);

impl Results {
    /// Reads what a guest left in `folder`; nothing, if it did not get so far.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).context("cannot read the results")?;
        Ok(Self(text.lines().filter_map(RunResult::parse).collect()))
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn wrong(&self) -> usize {
        self.0.iter().filter(|run| !run.faults.is_empty()).count()
    }

    /// One line a scenario, and one for each wrong run.
    pub(super) fn print(&self) {
        let rows: Vec<_> = self.scenarios().into_iter().map(|name| self.row(name)).collect();
        table::print(["scenario", "runs", "right", "seconds a run", "verdicts"], &rows);
        for run in self.0.iter().filter(|run| !run.faults.is_empty()) {
            println!("wrong: {} run {}: {}", run.scenario, run.run, run.faults.join("; "));
        }
    }

    /// Each once, in the order of their first runs.
    fn scenarios(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for run in &self.0 {
            if !names.contains(&run.scenario.as_str()) {
                names.push(run.scenario.as_str());
            }
        }
        names
    }

    fn row(&self, name: &str) -> [String; 5] {
        let runs: Vec<_> = self.0.iter().filter(|run| run.scenario == name).collect();
        let right = runs.iter().filter(|run| run.faults.is_empty()).count();
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let mut verdicts: Vec<_> = runs.iter().map(|run| run.verdict.as_str()).collect();
        verdicts.sort_unstable();
        let counted = verdicts.chunk_by(|a, b| a == b).map(|it| format!("{} {}", it.len(), it[0]));
        [
            name.to_owned(),
            runs.len().to_string(),
            right.to_string(),
            format!("{:.1}", seconds / runs.len() as f64),
            counted.collect::<Vec<_>>().join(", "),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{Results, RunResult};

    #[test]
    fn results_survive_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunResult {
            scenario: "a forward hole".to_owned(),
            run: 2,
            verdict: "unknown".to_owned(),
            faults: vec!["verdict unknown".to_owned()],
            seconds: 1.5,
        };
        assert_eq!(Results::read(folder.path()).unwrap().count(), 0);
        run.append(folder.path()).unwrap();
        let right = RunResult {
            faults: Vec::new(),
            verdict: "forward_black_hole".to_owned(),
            ..run.clone()
        };
        right.append(folder.path()).unwrap();
        let results = Results::read(folder.path()).unwrap();
        assert_eq!(results, Results(vec![run, right]));
        assert_eq!((results.count(), results.wrong()), (2, 1));
        assert_eq!(results.scenarios(), ["a forward hole"]);
        assert_eq!(
            results.row("a forward hole")[2..],
            ["1", "1.5", "1 forward_black_hole, 1 unknown"]
        );
    }
}
