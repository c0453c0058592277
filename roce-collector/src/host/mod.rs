//! The RDMA devices behind the interfaces, and whether the hooks see their traffic.
//!
//! A NIC that offloads RDMA takes RoCE packets out before XDP and TC, and then the hooks see nothing
//! although the port is busy. Its counters tell: [`find_ports`] finds the ports of an interface,
//! [`PortCounters`] reads them, and [`Visibility`] compares.
//!
//! Only sysfs is read, and nothing else is asked of the driver. The root of sysfs is a parameter.

mod counters;
mod drops;
mod ports;
mod visibility;
mod watch;

pub use counters::PortCounters;
pub use drops::InterfaceDrops;
pub use ports::{RdmaPort, find_ports};
pub use visibility::{Blindness, Sample, Visibility};
pub use watch::{HookPackets, HostReport, HostWatch};

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of a sysfs file that matter here: a name or a number.
const MAX_FILE: u64 = 256;

/// Text of a small sysfs file without blanks around it. Drivers refuse to read some of their files.
fn read_small(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

/// Names in a folder, at most `limit`, in order; none when it cannot be listed.
fn list(folder: &Path, limit: usize) -> Vec<String> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let names = entries.take(limit).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}
