//! Frames that an interface lost before any hook saw them.

use std::path::{Path, PathBuf};

use super::read_small;

/// Statistics of a network device that count such frames: no buffer, no room in a queue of the device
/// (Linux `struct rtnl_link_stats64`). Reading them asks no firmware.
const COUNTERS: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

/// Watches the counters of one interface.
#[derive(Debug)]
pub struct InterfaceDrops {
    statistics: PathBuf,
    last: Option<u64>,
}

impl InterfaceDrops {
    /// The counters of `interface` below `sysfs`.
    pub fn new(sysfs: &Path, interface: &str) -> Self {
        let statistics = sysfs.join("class/net").join(interface).join("statistics");
        Self { statistics, last: None }
    }

    /// Whether frames were lost since the last call. The first call, and one that cannot read the counters,
    /// know nothing.
    pub fn have_moved(&mut self) -> bool {
        let counts = COUNTERS
            .iter()
            .filter_map(|name| read_small(&self.statistics.join(name))?.parse::<u64>().ok());
        let now = counts.reduce(u64::wrapping_add);
        let before = std::mem::replace(&mut self.last, now);
        matches!((before, now), (Some(before), Some(now)) if before != now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_counter_that_moves_is_a_loss() {
        let sysfs = tempfile::tempdir().unwrap();
        let mut drops = InterfaceDrops::new(sysfs.path(), "eth0");
        assert!(!drops.have_moved(), "there is no such interface");
        let statistics = sysfs.path().join("class/net/eth0/statistics");
        fs::create_dir_all(&statistics).unwrap();
        let write = |name: &str, value| fs::write(statistics.join(name), value).unwrap();
        write("rx_missed_errors", "7\n");
        write("rx_fifo_errors", "0\n");
        assert!(!drops.have_moved(), "7 were lost before anybody looked");
        assert!(!drops.have_moved());
        write("rx_fifo_errors", "1\n");
        assert!(drops.have_moved());
        write("rx_fifo_errors", "odd");
        assert!(drops.have_moved(), "the sum is another one");
    }
}
