//! Turns segmentation and checksum offloads off, so that frames look as they would on a wire.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context, Result};

/// `ETHTOOL_S*` commands (linux/ethtool.h) in the order they depend on each other.
const SWITCHES: [(u32, &str); 5] = [
    (0x2c, "generic receive offload"),
    (0x1f, "TCP segmentation offload"),
    (0x24, "generic segmentation offload"),
    (0x19, "scatter-gather"),
    (0x17, "transmit checksum offload"),
];

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Turns the offloads of `interface` off, in the calling thread's namespace.
pub(super) fn disable(interface: &str) -> Result<()> {
    // SAFETY: socket takes plain integers and returns a new descriptor or -1.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error()).context("opening a socket for ethtool requests");
    }
    // SAFETY: `raw` was just returned by socket and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    for (command, name) in SWITCHES {
        switch_off(&socket, interface, command)
            .with_context(|| format!("turning {name} of {interface} off"))?;
    }
    Ok(())
}

fn switch_off(socket: &OwnedFd, interface: &str, command: u32) -> io::Result<()> {
    let mut value = EthtoolValue { command, data: 0 };
    // SAFETY: ifreq is plain old data, for which all-zero bytes are a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0, so the name always ends.
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` and the `ethtool_value` it points to live on this stack frame for the
    // whole call, and SIOCETHTOOL with an ETHTOOL_S* command reads exactly those two.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
