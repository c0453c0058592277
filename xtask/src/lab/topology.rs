//! Interfaces, routes and RDMA devices.

use std::net::Ipv4Addr;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Sends requests.
    A,
    /// Answers them.
    B,
}

impl Host {
    pub(crate) const BOTH: [Self; 2] = [Self::A, Self::B];

    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Self::A => "va",
            Self::B => "vb",
        }
    }

    /// The switch's port to it.
    pub(super) const fn port(self) -> &'static str {
        match self {
            Self::A => "pa",
            Self::B => "pb",
        }
    }

    pub(crate) const fn device(self) -> &'static str {
        match self {
            Self::A => "rxe0",
            Self::B => "rxe1",
        }
    }

    pub(crate) const fn address(self) -> Ipv4Addr {
        match self {
            Self::A => Ipv4Addr::new(10, 0, 0, 1),
            Self::B => Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    pub(crate) const fn mac(self) -> [u8; 6] {
        match self {
            Self::A => [0x02, 0, 0, 0, 0, 0x0a],
            Self::B => [0x02, 0, 0, 0, 0, 0x0b],
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    fn mac_text(self) -> String {
        self.mac().map(|byte| format!("{byte:02x}")).join(":")
    }
}

/// Namespace of the switch.
const SWITCH: &str = "switch";

/// What the lab is made of. Loading a module takes seconds under emulation: not in mid run.
const MODULES: [&str; 7] =
    ["rdma_rxe", "ib_uverbs", "veth", "bridge", "nf_tables", "nft_numgen", "sch_netem"];

/// The lab. It lasts as long as the guest.
#[derive(Debug)]
pub(crate) struct Lab;

impl Lab {
    /// Builds everything.
    pub(crate) fn build() -> Result<Self> {
        for module in MODULES {
            line(&format!("modprobe {module}"))?;
        }
        line(&format!("ip netns add {SWITCH}"))?;
        line(&format!("ip -n {SWITCH} link add br0 type bridge mcast_snooping 0"))?;
        for host in Host::BOTH {
            connect(host).with_context(|| format!("cannot connect host {host:?}"))?;
        }
        line(&format!("ip -n {SWITCH} link set br0 up"))?;
        let settings = ["accept_local=1", "rp_filter=0"];
        for interface in ["all", "va", "vb"] {
            for setting in settings {
                line(&format!("sysctl -qw net.ipv4.conf.{interface}.{setting}"))?;
            }
        }
        send_over_the_wire()?;
        for host in Host::BOTH {
            let (device, interface) = (host.device(), host.interface());
            line(&format!("rdma link add {device} type rxe netdev {interface}"))?;
        }
        let [a, b] = Host::BOTH;
        line(&format!("ping -q -c 1 -W 5 -I {} {}", a.address(), b.address()))
            .context("the hosts do not reach each other")?;
        Ok(Self)
    }

    /// A command in the namespace of the switch.
    pub(crate) fn on_switch(program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", SWITCH, program]);
        command
    }
}

/// A veth pair from the host to the switch.
fn connect(host: Host) -> Result<()> {
    let (interface, port, mac) = (host.interface(), host.port(), host.mac_text());
    line(&format!(
        "ip link add {interface} address {mac} type veth peer name {port} netns {SWITCH}"
    ))?;
    line(&format!("ip -n {SWITCH} link set {port} master br0 up"))?;
    line(&format!("sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1"))?;
    // Merged segments are longer than the wire allows, and a bridge does not split them.
    line(&format!("ethtool -K {interface} tx off gro off gso off tso off"))?;
    line(&format!("ip addr add {}/24 dev {interface}", host.address()))?;
    line(&format!("ip link set {interface} up"))?;
    let peer = host.other();
    line(&format!(
        "ip neigh replace {} lladdr {} dev {interface} nud permanent",
        peer.address(),
        peer.mac_text()
    ))
}

/// Both addresses are local; what one host sends to the other must leave it all the same.
fn send_over_the_wire() -> Result<()> {
    for (number, host) in Host::BOTH.into_iter().enumerate() {
        let (own, peer) = (host.address(), host.other().address());
        let (preference, table) = (10 + number, 100 + number);
        line(&format!("ip rule add pref {preference} iif lo to {peer} lookup {table}"))?;
        line(&format!("ip route add {peer} dev {} src {own} table {table}", host.interface()))?;
    }
    // The kernel asks for local addresses first unless that is put behind.
    line("ip rule add pref 20 lookup local")?;
    line("ip rule del pref 0")
}

/// Runs a command line without quotes.
pub(super) fn line(text: &str) -> Result<()> {
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    process::output(command.args(words)).map(drop)
}
