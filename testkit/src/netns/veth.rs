//! A pair of virtual Ethernet interfaces between two namespaces.

use std::fmt::Write as _;
use std::net::IpAddr;

use anyhow::{Context, Result};

use super::ip_command::ip;
use super::namespace::Namespace;
use super::{offload, quiet};
use crate::packet::Mac;

/// One end of the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VethEnd {
    /// Interface name.
    pub name: String,
    /// Ethernet address.
    pub mac: Mac,
    /// Addresses with prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// What to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VethConfig {
    /// MTU of both ends.
    pub mtu: u32,
    /// Receive and transmit queues of both ends; a driver's XDP runs once for each.
    pub queues: u32,
    /// Whether segmentation and checksum offloads stay on. Frames from an `AF_PACKET` socket do
    /// not care; traffic of the kernel's own stack does.
    pub offloads: bool,
    /// First end.
    pub left: VethEnd,
    /// Second end.
    pub right: VethEnd,
}

impl Default for VethConfig {
    /// MTU 1500, one queue, offloads off, no addresses (so no frame that the test did not send).
    fn default() -> Self {
        let end = |name: &str, last| VethEnd {
            name: name.to_owned(),
            mac: [0x02, 0, 0, 0, 0xff, last],
            addresses: Vec::new(),
        };
        Self {
            mtu: 1500,
            queues: 1,
            offloads: false,
            left: end("left0", 1),
            right: end("right0", 2),
        }
    }
}

/// A veth pair with both links up. Dropping it, or either namespace, removes both ends.
///
/// Addresses of the peer are permanent neighbours, so no ARP or neighbour discovery is sent. An end
/// without an IPv6 address has IPv6 off and sends nothing by itself; with one, the kernel may
/// send multicast listener reports.
#[derive(Debug)]
pub struct VethPair {
    left_namespace: String,
    config: VethConfig,
}

impl VethPair {
    /// Creates the pair with one end in `left` and one in `right`, which may be the same.
    ///
    /// # Errors
    /// When iproute2 refuses: its message says why.
    pub fn create(left: &Namespace, right: &Namespace, config: &VethConfig) -> Result<Self> {
        let VethConfig { mtu, queues, left: here, right: there, .. } = config;
        let shape = format!("mtu {mtu} numrxqueues {queues} numtxqueues {queues}");
        ip(&format!(
            "-n {} link add {} address {} {shape} type veth peer name {} address {} {shape} netns {}",
            left.name(),
            here.name,
            mac_text(here.mac),
            there.name,
            mac_text(there.mac),
            right.name(),
        ))?;
        // From here on, an early return removes the pair.
        let pair = Self { left_namespace: left.name().to_owned(), config: config.clone() };
        pair.set_up(left, here, there).with_context(|| format!("setting up {}", here.name))?;
        pair.set_up(right, there, here).with_context(|| format!("setting up {}", there.name))?;
        Ok(pair)
    }

    /// Interface name of the first end.
    pub fn left_name(&self) -> &str {
        &self.config.left.name
    }

    /// Interface name of the second end.
    pub fn right_name(&self) -> &str {
        &self.config.right.name
    }

    /// What was created.
    pub fn config(&self) -> &VethConfig {
        &self.config
    }

    fn set_up(&self, namespace: &Namespace, end: &VethEnd, peer: &VethEnd) -> Result<()> {
        let inside = namespace.name();
        if !end.addresses.iter().any(|(address, _)| address.is_ipv6()) {
            namespace.run(|| quiet::disable_ipv6(&end.name))??;
        }
        if !self.config.offloads {
            namespace.run(|| offload::disable(&end.name))??;
        }
        for (address, prefix) in &end.addresses {
            ip(&format!("-n {inside} addr add {address}/{prefix} dev {}", end.name))?;
        }
        ip(&format!("-n {inside} link set {} up", end.name))?;
        for (address, _) in &peer.addresses {
            let mac = mac_text(peer.mac);
            ip(&format!(
                "-n {inside} neigh replace {address} lladdr {mac} nud permanent dev {}",
                end.name
            ))?;
        }
        Ok(())
    }
}

impl Drop for VethPair {
    fn drop(&mut self) {
        // Gone already when its namespace was removed first; nothing is left to clean up then.
        let _ = ip(&format!("-n {} link del {}", self.left_namespace, self.config.left.name));
    }
}

fn mac_text(mac: Mac) -> String {
    mac.iter().enumerate().fold(String::new(), |mut text, (at, byte)| {
        let separator = if at == 0 { "" } else { ":" };
        let _ = write!(text, "{separator}{byte:02x}");
        text
    })
}
