//! Table, goal, JSON.

use serde_json::{Value, json};

use super::machine::Machine;
use super::measure::{Cost, Measured};
use super::suite::EMPTY;
use super::tables::Tables;
use crate::table;

/// The product should cost no more than the floor, whatever the number of flows.
const GOAL: f64 = 1.0;
/// With so many flows that misses decide, it should cost much less.
const MANY_FLOWS: u32 = 100_000;
const GOAL_WITH_MANY_FLOWS: f64 = 0.6;

/// Slowest by fastest run of the empty program above which the figures mean little.
const UNSTEADY: f64 = 1.2;

#[derive(Debug)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) measured: Vec<Measured>,
    pub(super) tables: Option<Tables>,
}

/// Whether one object reaches the goal with one number of flows.
struct Verdict<'a> {
    flows: u32,
    cost: &'a Cost,
    goal: f64,
}

impl Verdict<'_> {
    fn is_met(&self) -> bool {
        self.cost.ratio.median <= self.goal
    }
}

impl Report {
    pub(super) fn print(&self) {
        println!("{}", self.machine.line());
        println!(
            "net is without test loop, wrapper and tail call; ratio is net to the net of the floor"
        );
        let rows: Vec<_> = self.rows().map(|(flows, cost)| row(flows, cost)).collect();
        table::print(["flows", "program", "ns/packet", "net", "ratio", "ratio of rounds"], &rows);
        if let Some(spread) = self.spread_of_empty().filter(|it| *it > UNSTEADY) {
            println!(
                "NOT STEADY: the empty program took up to {spread:.1} times its shortest time. Something else \
                 used the CPU or its caches, or someone read BPF run statistics, which cost two clock reads \
                 a packet. Measure again when the machine is quiet."
            );
        }
        for verdict in self.verdicts() {
            let Verdict { flows, cost, goal } = &verdict;
            let met = if verdict.is_met() { "met    " } else { "NOT MET" };
            let (name, ratio) = (&cost.name, cost.ratio.median);
            println!("goal {met}  {name}, {flows} flows: {ratio:.2}, goal at most {goal:.1}");
        }
        if let Some(tables) = &self.tables {
            tables.print();
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let costs: Vec<_> = self
            .rows()
            .map(|(flows, cost)| {
                json!({
                    "flows": flows,
                    "program": cost.name,
                    "ns": cost.whole.to_json(),
                    "net_ns": cost.net.to_json(),
                    "ratio": cost.ratio.to_json(),
                })
            })
            .collect();
        let goals: Vec<_> = self
            .verdicts()
            .map(|it| json!({ "flows": it.flows, "program": it.cost.name, "goal": it.goal, "met": it.is_met() }))
            .collect();
        json!({
            "machine": self.machine.to_json(),
            "spread_of_empty": self.spread_of_empty(),
            "costs": costs,
            "goals": goals,
            "tables": self.tables.as_ref().map(Tables::to_json),
        })
    }

    /// Longest by shortest time of the empty program, which has nothing to wait for.
    fn spread_of_empty(&self) -> Option<f64> {
        let empty =
            || self.rows().filter(|(_, cost)| cost.name == EMPTY).map(|(_, cost)| cost.whole);
        let min = empty().map(|it| it.min).reduce(f64::min)?;
        let max = empty().map(|it| it.max).reduce(f64::max)?;
        Some(max / min)
    }

    fn rows(&self) -> impl Iterator<Item = (u32, &Cost)> {
        self.measured.iter().flat_map(|it| it.costs.iter().map(|cost| (it.flows, cost)))
    }

    fn verdicts(&self) -> impl Iterator<Item = Verdict<'_>> {
        self.rows().filter(|(_, cost)| cost.is_product).map(|(flows, cost)| {
            let goal = if flows < MANY_FLOWS { GOAL } else { GOAL_WITH_MANY_FLOWS };
            Verdict { flows, cost, goal }
        })
    }
}

fn row(flows: u32, cost: &Cost) -> [String; 6] {
    [
        flows.to_string(),
        cost.name.clone(),
        format!("{:.1} ({:.1} to {:.1})", cost.whole.median, cost.whole.min, cost.whole.max),
        format!("{:.1}", cost.net.median),
        format!("{:.2}", cost.ratio.median),
        format!("{:.2} to {:.2}", cost.ratio.min, cost.ratio.max),
    ]
}
