//! Queue pairs that die in known ways, and what the collector must say of it.

mod judge;
mod plays;
mod stage;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::results::RunResult;
use crate::vm::{SHARED, SPOKEN};
use judge::Expected;
use stage::{House, Played, Stage};

/// A way to fail.
struct Scenario {
    letter: &'static str,
    name: &'static str,
    expected: Expected,
    play: fn(&mut Stage<'_>) -> Result<Played>,
}

const SCENARIOS: [Scenario; 12] = [
    Scenario {
        letter: "a",
        name: "forward_hole",
        expected: Expected::verdict("forward_black_hole").with_warning().with_owner(),
        play: plays::forward_hole,
    },
    Scenario {
        letter: "a2",
        name: "acks_lost",
        expected: Expected::verdict("reverse_black_hole").with_warning().with_owner(),
        play: plays::acks_lost,
    },
    Scenario {
        letter: "b",
        name: "peer_killed",
        expected: Expected::verdict("peer_silent").with_owner(),
        play: plays::peer_killed,
    },
    Scenario {
        letter: "c",
        name: "no_receives",
        expected: Expected::verdict("receiver_not_ready").with_owner(),
        play: plays::no_receives,
    },
    Scenario {
        letter: "d",
        name: "bad_rkey",
        expected: Expected::verdict("access_error").with_owner(),
        play: plays::bad_rkey,
    },
    Scenario {
        letter: "e",
        name: "large_lost",
        expected: Expected::verdict("mtu_black_hole"),
        play: plays::large_lost,
    },
    Scenario {
        letter: "f",
        name: "wrong_dscp_lost",
        expected: Expected::verdict("mismarked_lossy_drop"),
        play: plays::wrong_dscp_lost,
    },
    Scenario {
        letter: "g",
        name: "congestion",
        expected: Expected::verdict("congestion_loss"),
        play: plays::congestion,
    },
    Scenario {
        letter: "h",
        name: "reordering",
        expected: Expected::nothing(),
        play: plays::reordering,
    },
    Scenario {
        letter: "i",
        name: "retries_for_ever",
        expected: Expected::stalled(),
        play: plays::retries_for_ever,
    },
    Scenario {
        letter: "j",
        name: "perftest",
        expected: Expected::nothing(),
        play: plays::perftest,
    },
    Scenario {
        letter: "k",
        name: "perftest_hole",
        expected: Expected::stalled(),
        play: plays::perftest_hole,
    },
];

/// What a guest shall run.
#[derive(Debug, clap::Args)]
pub(crate) struct Order {
    #[arg(long)]
    runs: u32,
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

impl Order {
    /// The same as words for the guest.
    pub(crate) fn words(runs: u32, only: &[String]) -> Vec<String> {
        let mut words =
            vec!["vm-guest".to_owned(), "scenarios".to_owned(), format!("--runs={runs}")];
        if !only.is_empty() {
            words.push(format!("--only={}", only.join(",")));
        }
        words
    }
}

/// Refuses names that no scenario has.
pub(super) fn check_names(names: &[String]) -> Result<()> {
    let all: Vec<_> = SCENARIOS.iter().map(|it| format!("{} ({})", it.letter, it.name)).collect();
    match names.iter().find(|name| !SCENARIOS.iter().any(|it| it.is_called(name))) {
        Some(name) => bail!("there is no scenario {name}, but {}", all.join(", ")),
        None => Ok(()),
    }
}

/// Number of scenarios that `names` choose; no names choose all.
pub(super) fn count(names: &[String]) -> u32 {
    chosen(names).count() as u32
}

fn chosen(names: &[String]) -> impl Iterator<Item = &Scenario> {
    SCENARIOS.iter().filter(|it| names.is_empty() || names.iter().any(|name| it.is_called(name)))
}

impl Scenario {
    fn is_called(&self, name: &str) -> bool {
        name == self.letter || name == self.name
    }

    /// Plays it once, with everything that it leaves in `folder`.
    fn run(&self, house: &mut House, run: u32, folder: &Path) -> RunResult {
        let start = Instant::now();
        let outcome = self.play_in(house, folder);
        let (verdict, faults) = match outcome {
            Ok((verdict, faults)) => (verdict, faults),
            Err(error) => ("not played".to_owned(), vec![format!("{error:#}")]),
        };
        RunResult {
            scenario: format!("{} {}", self.letter, self.name),
            run: run.into(),
            verdict,
            faults,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    fn play_in(&self, house: &mut House, folder: &Path) -> Result<(String, Vec<String>)> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut stage = Stage::set(house, folder)?;
        let played = (self.play)(&mut stage);
        let judged = played.map(|played| self.expected.judge(&stage, &played));
        stage.strike()?;
        judged?
    }
}

/// Runs in the guest.
pub(crate) fn run(order: &Order) -> Result<()> {
    let shared = Path::new(SHARED);
    let mut house = House::open(shared)?;
    println!("{SPOKEN}the lab is built, the collector is ready");
    // By rounds, so that what one scenario leaves behind meets all others.
    for run in 1..=order.runs {
        for scenario in chosen(&order.only) {
            let result =
                scenario.run(&mut house, run, &shared.join(format!("{}-{run}", scenario.name)));
            let state = if result.faults.is_empty() { "right" } else { "WRONG" };
            println!(
                "{SPOKEN}{} run {run}: {state}, {} ({:.1} s) {}",
                result.scenario,
                result.verdict,
                result.seconds,
                result.faults.join("; "),
            );
            result.append(shared)?;
        }
    }
    house.close()
}

#[cfg(test)]
mod tests {
    use super::{check_names, count};

    #[test]
    fn scenarios_are_chosen_by_letter_or_name() {
        let names = ["a".to_owned(), "bad_rkey".to_owned()];
        assert!(check_names(&names).is_ok());
        assert_eq!(count(&names), 2);
        let unknown = check_names(&["z".to_owned()]).unwrap_err().to_string();
        assert!(unknown.contains("there is no scenario z"), "{unknown}");
    }
}
