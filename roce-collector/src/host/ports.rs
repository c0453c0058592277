//! Which RDMA ports belong to an interface.

use std::path::{Path, PathBuf};

use super::{list, read_small};

/// RDMA devices, ports of a device, and GIDs of a port that are looked at.
const MAX_DEVICES: usize = 256;
const MAX_PORTS: usize = 16;
const MAX_GIDS: usize = 1024;

/// A port of an RDMA device that speaks RoCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaPort {
    /// Name of the device, for example `mlx5_0`.
    pub device: String,
    /// Number of the port, from 1.
    pub port: u32,
    pub(super) folder: PathBuf,
}

/// The RoCE ports of `interface`, with `root` in the place of `/sys`.
///
/// A port belongs to an interface when its GID table says so, or else when both are parts of the same
/// PCI device. What cannot be read is left out.
pub fn find_ports(root: &Path, interface: &str) -> Vec<RdmaPort> {
    if interface.is_empty() || interface.contains('/') || interface.starts_with('.') {
        return Vec::new();
    }
    let siblings =
        list(&root.join("class/net").join(interface).join("device/infiniband"), MAX_DEVICES);
    let devices = root.join("class/infiniband");
    let mut found = Vec::new();
    for device in list(&devices, MAX_DEVICES) {
        let ports = roce_ports(&devices, &device);
        let of_gids: Vec<_> =
            ports.iter().filter(|port| has_gid_of(port, interface)).cloned().collect();
        if !of_gids.is_empty() {
            found.extend(of_gids);
        } else if siblings.contains(&device) {
            found.extend(of_sibling(root, interface, ports));
        }
    }
    found
}

/// Ports whose link layer is Ethernet.
fn roce_ports(devices: &Path, device: &str) -> Vec<RdmaPort> {
    let folder = devices.join(device).join("ports");
    let numbers = list(&folder, MAX_PORTS).into_iter();
    let ports = numbers.filter_map(|name| {
        let port = RdmaPort {
            device: device.to_owned(),
            port: name.parse().ok()?,
            folder: folder.join(&name),
        };
        let link_layer = read_small(&port.folder.join("link_layer"))?;
        (link_layer == "Ethernet").then_some(port)
    });
    ports.collect()
}

/// Whether one of the port's GIDs belongs to the interface. Tables are sparse: reading a free entry is
/// an error.
fn has_gid_of(port: &RdmaPort, interface: &str) -> bool {
    let folder = port.folder.join("gid_attrs/ndevs");
    let mut entries = list(&folder, MAX_GIDS).into_iter();
    entries.any(|entry| read_small(&folder.join(entry)).as_deref() == Some(interface))
}

/// Of a device with several ports, the one that the interface is.
fn of_sibling(root: &Path, interface: &str, mut ports: Vec<RdmaPort>) -> Vec<RdmaPort> {
    if ports.len() > 1 {
        let number = read_small(&root.join("class/net").join(interface).join("dev_port"));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
            ports.retain(|port| Some(port.port) == number.checked_add(1));
        }
    }
    ports
}
