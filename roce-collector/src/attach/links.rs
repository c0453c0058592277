//! Facts about the network interfaces at one moment.

use super::{Direction, Mode};

/// What the kernel says about one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Interface index; a new one each time an interface is made.
    pub index: u32,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: LinkKind,
    /// MTU in bytes.
    pub mtu: u32,
    /// Administratively up.
    pub is_up: bool,
    /// Index of the bond, bridge or team it is a port of.
    pub master: Option<u32>,
    /// Index of the interface it is stacked on. The peer of a veth counts as one.
    pub lower: Option<u32>,
    /// Attached XDP programs, one for each mode.
    pub xdp: Vec<AttachedXdp>,
    /// Kernel driver of the device, where there is a device.
    pub driver: Option<String>,
    /// This product's filters on its `clsact` queueing discipline.
    pub filters: Vec<TcFilter>,
}

/// Kind of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A port of a device, or whatever else has no kind of its own.
    Physical,
    /// `lo`.
    Loopback,
    /// One end of a veth pair.
    Veth,
    /// A bond of several ports.
    Bond,
    /// A VLAN of another interface.
    Vlan,
    /// Another virtual kind, by the kernel's name for it.
    Other(String),
}

/// An XDP program on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedXdp {
    /// How it is attached.
    pub mode: XdpMode,
    /// Id of the program.
    pub program: u32,
}

/// How an XDP program of anybody is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver.
    Native,
    /// In the network stack.
    Generic,
    /// In the device.
    Offloaded,
}

/// A `cls_bpf` filter of this product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcFilter {
    /// Direction it filters.
    pub direction: Direction,
    /// Its priority.
    pub priority: u16,
    /// Its handle: the id of the process that attached it.
    pub handle: u32,
}

/// All interfaces of a network namespace at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(Vec<LinkFacts>);

impl XdpMode {
    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => Mode::Native.name(),
            Self::Generic => Mode::Generic.name(),
            Self::Offloaded => "offloaded",
        }
    }
}

impl Links {
    /// From the facts of every interface.
    pub fn new(mut links: Vec<LinkFacts>) -> Self {
        links.sort_by_key(|link| link.index);
        Self(links)
    }

    /// The interface of that name.
    pub fn named(&self, name: &str) -> Option<&LinkFacts> {
        self.0.iter().find(|link| link.name == name)
    }

    /// The interface with that index.
    pub fn at(&self, index: u32) -> Option<&LinkFacts> {
        self.0.binary_search_by_key(&index, |link| link.index).ok().map(|at| &self.0[at])
    }

    /// The ports of a bond, bridge or team.
    pub fn ports_of(&self, master: u32) -> impl Iterator<Item = &LinkFacts> {
        self.0.iter().filter(move |link| link.master == Some(master))
    }

    /// Every interface, by index.
    pub fn iter(&self) -> impl Iterator<Item = &LinkFacts> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut LinkFacts> {
        self.0.iter_mut()
    }
}
