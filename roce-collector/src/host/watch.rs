//! Looks at all interfaces from time to time.

use std::path::{Path, PathBuf};

use super::{Blindness, PortCounters, RdmaPort, Sample, Visibility, find_ports};

/// Looks between two searches for RDMA devices, which come and go with their drivers.
const LOOKS_PER_SEARCH: u32 = 12;

/// Packets that the hooks of an interface ever saw, on ingress and on egress; `None` where nothing is
/// attached.
pub type HookPackets = [Option<u64>; 2];

/// What is known about the interfaces, by their place in the list.
#[derive(Clone, Debug, Default)]
pub struct HostReport {
    /// See [`Visibility::ratio`].
    pub ratios: Vec<Option<f64>>,
    /// See [`Visibility::is_blind`].
    pub is_blind: Vec<bool>,
    /// What the hooks cannot see and what to do, one line for each interface.
    pub blind: Vec<String>,
}

/// Compares hooks and NICs. Count every five seconds, no more often: reading costs the driver work.
#[derive(Debug)]
pub struct HostWatch {
    root: PathBuf,
    devices: Vec<Device>,
    looks: u32,
}

#[derive(Debug)]
struct Device {
    name: String,
    ports: Vec<RdmaPort>,
    visibility: Visibility,
}

impl HostWatch {
    /// Watches these interfaces, with `root` in the place of `/sys`.
    pub fn new(root: &Path, interfaces: &[String]) -> Self {
        let devices = interfaces.iter().map(|name| Device {
            name: name.clone(),
            ports: Vec::new(),
            visibility: Visibility::default(),
        });
        Self { root: root.to_owned(), devices: devices.collect(), looks: 0 }
    }

    /// Reads what the NICs count.
    pub fn count(&mut self) -> Vec<PortCounters> {
        let is_search = self.looks.is_multiple_of(LOOKS_PER_SEARCH);
        self.looks = self.looks.wrapping_add(1);
        let counters = self.devices.iter_mut().map(|device| {
            if is_search {
                device.ports = find_ports(&self.root, &device.name);
            }
            PortCounters::read(&device.ports)
        });
        counters.collect()
    }

    /// Compares what the NICs counted with what the hooks saw up to then or a little later: hooks that were read
    /// before would seem to miss the first packets after a pause. Says in the log when it changes what can be
    /// seen.
    pub fn compare(&mut self, counters: Vec<PortCounters>, hooks: &[HookPackets]) -> HostReport {
        let mut report = HostReport::default();
        for ((device, counters), &hooks) in self.devices.iter_mut().zip(counters).zip(hooks) {
            if device.visibility.observe(&Sample { hooks, counters }) {
                device.log();
            }
            report.ratios.push(device.visibility.ratio());
            report.is_blind.push(device.visibility.is_blind());
            report.blind.extend(device.complaint());
        }
        report
    }
}

impl Device {
    /// What the hooks cannot see, if they are blind, and what can be done.
    fn complaint(&self) -> Option<String> {
        let what = match self.visibility.blindness() {
            Some(blindness) => blindness.to_string(),
            None if self.visibility.is_blind() => {
                "RDMA traffic bypasses the kernel on this device: the hooks \
                see less than one in a hundred of the packets that it counts"
                    .to_owned()
            }
            None => return None,
        };
        let ports: Vec<_> =
            self.ports.iter().map(|port| format!("{}/{}", port.device, port.port)).collect();
        Some(format!("{} ({}): {what}; {}", self.name, ports.join(", "), Blindness::ADVICE))
    }

    fn log(&self) {
        if let Some(complaint) = self.complaint() {
            tracing::warn!(device = self.name, "{complaint}");
        } else {
            tracing::info!(device = self.name, "the hooks see RDMA traffic again");
        }
    }
}

#[cfg(test)]
mod tests;
