//! Options about the queue pairs that the kernel lists.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// How the kernel's queue pairs are listed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Queue pairs of this host")]
pub struct InventoryArgs {
    /// Time between two looks at the kernel's queue pairs (RDMA netlink), as 2s or 500ms; 0 turns them off
    #[arg(
        long,
        value_name = "TIME",
        env = "ROCE_QP_INVENTORY_INTERVAL",
        default_value = "1s",
        value_parser = interval
    )]
    pub qp_inventory_interval: Duration,

    /// Queue pairs of the kernel that are kept; further ones are counted
    #[arg(long, value_name = "N", env = "ROCE_MAX_QPS", default_value_t = 65_536)]
    pub max_qps: u32,

    /// Catch errors of queue pairs that live too short for a look, by probes in the kernel where it has them
    #[arg(long, value_enum, env = "ROCE_QP_WATCH", default_value_t)]
    pub qp_watch: QpWatchChoice,

    /// Folder in the place of /proc, for tests
    #[arg(
        long,
        value_name = "DIR",
        env = "ROCE_PROCFS_ROOT",
        default_value = "/proc",
        hide = true
    )]
    pub procfs_root: PathBuf,
}

/// Whether queue pairs are watched by probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum QpWatchChoice {
    /// Where the kernel has what it takes
    #[default]
    Auto,
    /// Not at all
    Off,
}

impl QpWatchChoice {
    /// Whether they may be.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::Auto)
    }
}

impl InventoryArgs {
    /// Time between two looks, unless they are turned off.
    pub fn interval(&self) -> Option<Duration> {
        Some(self.qp_inventory_interval).filter(|interval| !interval.is_zero())
    }
}

/// Seconds, or a number with a unit; 0, or from a tenth of a second to an hour.
fn interval(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text),
    };
    let bounds = Duration::from_millis(100)..=Duration::from_hours(1);
    time.ok()
        .filter(|time| time.is_zero() || bounds.contains(time))
        .ok_or_else(|| "expected 0, or a time from 100ms to 1h, as 2 or 500ms".to_owned())
}
