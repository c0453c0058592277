//! Compares what the hooks see with what the NIC counts.

use std::collections::VecDeque;
use std::fmt;

use super::PortCounters;
use super::counters::Growth;

/// Looks in a row that find the counters moving and the hooks empty, before that is said.
const LOOKS: u32 = 2;
/// Looks that the ratio is taken over: a minute.
const WINDOW: usize = 12;
/// Ratio below which packets that are seen say nothing about those that are not.
const MIN_RATIO: f64 = 0.01;
/// Counted packets below which a ratio says nothing: the hooks and the NIC are not read at one instant.
const MIN_PACKETS: u64 = 16;

/// One look at an interface.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Packets that the hook on ingress and that on egress ever saw; `None` for one that is not attached.
    pub hooks: [Option<u64>; 2],
    /// Counters of the RDMA ports; empty when there are none.
    pub counters: PortCounters,
}

/// That the hooks see nothing of a port that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blindness {
    /// Counter that shows it.
    pub counter: &'static str,
    /// How much it grew meanwhile.
    pub grown: u64,
}

/// What is known about one interface.
#[derive(Clone, Debug, Default)]
pub struct Visibility {
    last: Option<Sample>,
    /// Seen and counted packets of the last looks.
    window: VecDeque<(u64, u64)>,
    /// Looks in a row at which the hooks were empty while counters moved, and how they moved.
    empty_looks: u32,
    unseen: Vec<(&'static str, u64)>,
}

impl Visibility {
    /// Takes a look. Whether it changed what [`Self::is_blind`] says.
    pub fn observe(&mut self, sample: &Sample) -> bool {
        let was_blind = self.is_blind();
        let before = self.last.replace(sample.clone());
        let attached = sample.hooks.map(|hook| hook.is_some());
        match before {
            Some(before) if before.hooks.map(|hook| hook.is_some()) == attached => {
                let growth = sample.counters.growth_since(&before.counters, attached);
                let packets = |hooks: [Option<u64>; 2]| hooks.into_iter().flatten().sum::<u64>();
                self.add(packets(sample.hooks).saturating_sub(packets(before.hooks)), &growth);
            }
            // Something was attached or detached: start again.
            _ => *self = Self { last: self.last.take(), ..Self::default() },
        }
        was_blind != self.is_blind()
    }

    fn add(&mut self, seen: u64, growth: &Growth) {
        if let Some(counted) = growth.packets {
            self.window.push_back((seen, counted));
            if self.window.len() > WINDOW {
                self.window.pop_front();
            }
        }
        if seen != 0 {
            self.empty_looks = 0;
            self.unseen.clear();
        } else if !growth.signs.is_empty() {
            self.empty_looks = self.empty_looks.saturating_add(1);
            for &(name, grown) in &growth.signs {
                match self.unseen.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum = sum.saturating_add(grown),
                    None => self.unseen.push((name, grown)),
                }
            }
        }
    }

    /// That the hooks see nothing, while they do.
    pub fn blindness(&self) -> Option<Blindness> {
        let &(counter, grown) = self.unseen.first()?;
        (self.empty_looks >= LOOKS).then_some(Blindness { counter, grown })
    }

    /// Seen packets for each counted one over the last minute; above 1 where the hooks see traffic that
    /// is not for this NIC, such as a mirror's. `None` when too few were counted, or nothing counts.
    pub fn ratio(&self) -> Option<f64> {
        // Requests are no packets, but none of nothing is nothing.
        ratio_of(self.window.iter()).or_else(|| self.blindness().map(|_| 0.0))
    }

    /// Whether what the hooks count says nothing about the port: at the last looks they saw nothing of its
    /// traffic, or less than one packet in a hundred.
    pub fn is_blind(&self) -> bool {
        let looks = LOOKS as usize;
        let last = self.window.iter().rev().take(looks);
        let sees_little =
            self.window.len() >= looks && ratio_of(last).is_some_and(|ratio| ratio < MIN_RATIO);
        sees_little || self.blindness().is_some()
    }
}

/// Seen packets for each counted one; `None` when too few were counted.
fn ratio_of<'a>(looks: impl Iterator<Item = &'a (u64, u64)>) -> Option<f64> {
    let (seen, counted) = looks.fold((0, 0), |sum, look| (sum.0 + look.0, sum.1 + look.1));
    (counted >= MIN_PACKETS).then(|| seen as f64 / counted as f64)
}

impl fmt::Display for Blindness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counter, grown } = self;
        write!(
            f,
            "RDMA traffic bypasses the kernel on this device: hook sees 0 while hw {counter} grew by {grown}"
        )
    }
}

impl Blindness {
    /// What can be done about it.
    pub const ADVICE: &str = "no packet counter of this device says anything about RoCE, so none is exported. To see packets, \
        mirror the switch port to a port of this host whose NIC leaves RoCE alone (mlx5: `devlink dev param \
        set pci/ADDRESS name enable_roce value false cmode driverinit`, then `devlink dev reload \
        pci/ADDRESS`), or use soft-RoCE";
}
