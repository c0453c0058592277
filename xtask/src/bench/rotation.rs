//! The order in which packets visit flows.

use aya::Pod;

/// As `roce-ebpf/bench` has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rotation {
    flows: u32,
    step: u32,
    flow: u32,
    packet: u32,
    psn: u32,
}

// SAFETY: five words without padding; every bit pattern is valid.
unsafe impl Pod for Rotation {}

impl Rotation {
    /// Visits the flows one after the other.
    ///
    /// The maps are filled in this order: filled in the order of the visits, a kernel hash map would hand
    /// out neighbouring elements to neighbouring visits, and the prefetcher would hide its cache misses.
    pub(super) fn in_key_order(flows: u32) -> Self {
        Self { flows, step: u32::from(flows > 1), ..Self::default() }
    }

    /// Goes on with jumps of the golden section: all flows in turn, and no neighbours.
    pub(super) fn scattered(self) -> Self {
        Self { step: golden_step(self.flows), ..self }
    }
}

/// A step that is coprime to `flows` and near the golden section of it.
fn golden_step(flows: u32) -> u32 {
    const GOLDEN_SECTION: f64 = 0.618_033_988_749_895;
    if flows < 2 {
        return 0;
    }
    let first = (f64::from(flows) * GOLDEN_SECTION) as u32;
    (first.max(1)..flows).find(|step| greatest_common_divisor(flows, *step) == 1).unwrap_or(1)
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::golden_step;

    #[test]
    fn every_flow_has_its_turn() {
        for flows in [1_u32, 2, 3, 10, 1_000, 10_000, 100_000] {
            let step = golden_step(flows);
            let mut visited = vec![false; flows as usize];
            let mut flow = 0;
            for _ in 0..flows {
                visited[flow as usize] = true;
                flow = (flow + step) % flows;
            }
            assert!(visited.iter().all(|it| *it), "{flows} flows, step {step}");
        }
    }
}
