//! Interleaved rounds over all programs.

use anyhow::{Context, Result};

use super::cpu;
use super::statistics::Spread;
use super::suite::{EMPTY, FLOOR, Suite};

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) flows: u32,
    /// Packets of one run of one program.
    pub(super) packets: u32,
    pub(super) rounds: u32,
}

/// What one program took with some number of flows.
#[derive(Debug)]
pub(super) struct Cost {
    pub(super) name: String,
    pub(super) is_product: bool,
    /// Nanoseconds a packet with test loop, wrapper and tail call.
    pub(super) whole: Spread,
    /// Without those.
    pub(super) net: Spread,
    /// Net cost divided by the floor's of the same round.
    pub(super) ratio: Spread,
}

#[derive(Debug)]
pub(super) struct Measured {
    pub(super) flows: u32,
    pub(super) costs: Vec<Cost>,
}

pub(super) fn run(suite: &mut Suite, plan: &Plan) -> Result<Measured> {
    suite.fill(plan.flows)?;
    let mut times = vec![Vec::new(); suite.subjects.len()];
    for _ in 0..plan.rounds {
        for (index, times) in times.iter_mut().enumerate() {
            // What the program before it left in the caches is gone after every flow had a packet.
            suite.run(index, plan.flows.max(1000))?;
            let (time, ()) = cpu::time(|| suite.run(index, plan.packets))?;
            times.push(time.as_secs_f64() * 1e9 / f64::from(plan.packets));
        }
    }
    let of = |name| {
        let index = suite.subjects.iter().position(|it| it.name == name);
        index.and_then(|it| times.get(it)).with_context(|| format!("{name} was not measured"))
    };
    let (empty, floor) = (of(EMPTY)?, of(FLOOR)?);
    let cost = |subject: &super::suite::Subject, own: &Vec<f64>| {
        let net = || own.iter().zip(empty).map(|(own, empty)| own - empty);
        let floor_net = floor.iter().zip(empty).map(|(floor, empty)| floor - empty);
        Cost {
            name: subject.name.clone(),
            is_product: subject.is_product,
            whole: Spread::of(own.iter().copied()),
            net: Spread::of(net()),
            ratio: Spread::of(net().zip(floor_net).map(|(own, floor)| own / floor)),
        }
    };
    let costs = suite.subjects.iter().zip(&times).map(|(subject, own)| cost(subject, own));
    Ok(Measured { flows: plan.flows, costs: costs.collect() })
}
