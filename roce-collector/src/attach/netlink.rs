//! Reads link facts from the kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use futures_util::{Stream, TryStreamExt};
use rtnetlink::Handle;
use rtnetlink::packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkXdp, XdpAttached,
};
use rtnetlink::packet_route::tc::{TcAttribute, TcFilterBpfOption, TcHandle, TcMessage, TcOption};
use tokio::task::JoinHandle;

use super::{AttachedXdp, Direction, LinkFacts, LinkKind, Links, Program, TcFilter, XdpMode};

/// Where the facts come from: rtnetlink, and sysfs for the names of drivers.
///
/// It belongs to the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct LinkSource {
    handle: Handle,
    connection: JoinHandle<()>,
    sysfs: PathBuf,
}

/// Why the facts cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No netlink socket.
    #[error("cannot open a route netlink socket: {0}")]
    Open(#[source] io::Error),
    /// The kernel refused.
    #[error("cannot ask the kernel for {what}: {source}")]
    Request {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        source: rtnetlink::Error,
    },
}

impl LinkSource {
    /// Opens a source that finds driver names under `sysfs`, which is `/sys` unless in a test.
    ///
    /// # Errors
    ///
    /// When the kernel gives no netlink socket.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with its I/O driver on.
    pub fn open(sysfs: &Path) -> Result<Self, LinkError> {
        let (connection, handle, _messages) =
            rtnetlink::new_connection().map_err(LinkError::Open)?;
        let connection = tokio::spawn(connection);
        Ok(Self { handle, connection, sysfs: sysfs.to_owned() })
    }

    /// Facts of every interface; those in `watched` with their filters.
    ///
    /// # Errors
    ///
    /// When the kernel refuses. An interface that goes away meanwhile is no error.
    pub async fn read(&self, watched: &[String]) -> Result<Links, LinkError> {
        let messages = self.handle.link().get().execute();
        let messages = collect("its interfaces", messages).await?;
        let facts = messages.into_iter().filter_map(link_facts).collect();
        let mut links = Links::new(facts);
        for link in links.iter_mut().filter(|link| watched.contains(&link.name)) {
            link.driver = driver(&self.sysfs, &link.name);
            link.filters = self.filters(link.index).await?;
        }
        Ok(links)
    }

    async fn filters(&self, index: u32) -> Result<Vec<TcFilter>, LinkError> {
        let mut filters = Vec::new();
        for direction in [Direction::Ingress, Direction::Egress] {
            let request = self.handle.traffic_filter(index.cast_signed()).get();
            let request = match direction {
                Direction::Ingress => request.ingress(),
                Direction::Egress => request.egress(),
            };
            match collect("TC filters", request.execute()).await {
                Ok(messages) => {
                    let own = messages.iter().filter_map(|message| own_filter(message, direction));
                    filters.extend(own);
                }
                Err(LinkError::Request { source, .. }) if is_absent(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filters)
    }
}

impl Drop for LinkSource {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

async fn collect<T>(
    what: &'static str,
    messages: impl Stream<Item = Result<T, rtnetlink::Error>>,
) -> Result<Vec<T>, LinkError> {
    messages.try_collect().await.map_err(|source| LinkError::Request { what, source })
}

/// Whether an interface went away, has no `clsact`, or the kernel has no TC at all.
fn is_absent(error: &rtnetlink::Error) -> bool {
    let rtnetlink::Error::NetlinkError(message) = error else { return false };
    matches!(-message.raw_code(), libc::ENODEV | libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP)
}

/// Facts of one interface; `None` for a message without a name, which no kernel sends.
fn link_facts(message: LinkMessage) -> Option<LinkFacts> {
    let LinkMessage { header, attributes, .. } = message;
    let is_loopback = header.flags.contains(LinkFlags::Loopback);
    let mut facts = LinkFacts {
        index: header.index,
        name: String::new(),
        kind: if is_loopback { LinkKind::Loopback } else { LinkKind::Physical },
        mtu: 0,
        is_up: header.flags.contains(LinkFlags::Up),
        master: None,
        lower: None,
        xdp: Vec::new(),
        driver: None,
        filters: Vec::new(),
    };
    for attribute in attributes {
        match attribute {
            LinkAttribute::IfName(name) => facts.name = name,
            LinkAttribute::Mtu(mtu) => facts.mtu = mtu,
            LinkAttribute::Controller(index) => facts.master = Some(index),
            LinkAttribute::Link(index) => facts.lower = Some(index),
            LinkAttribute::Xdp(xdp) => facts.xdp = attached_xdp(&xdp),
            LinkAttribute::LinkInfo(infos) => {
                let kind = infos.iter().find_map(|info| match info {
                    LinkInfo::Kind(kind) => Some(link_kind(kind)),
                    _ => None,
                });
                facts.kind = kind.unwrap_or(facts.kind);
            }
            _ => {}
        }
    }
    (!facts.name.is_empty()).then_some(facts)
}

fn link_kind(kind: &InfoKind) -> LinkKind {
    match kind {
        InfoKind::Veth => LinkKind::Veth,
        InfoKind::Bond => LinkKind::Bond,
        InfoKind::Vlan => LinkKind::Vlan,
        other => LinkKind::Other(other.to_string()),
    }
}

/// `IFLA_XDP`: one program by mode and id, or with `XDP_ATTACHED_MULTI` an id for each mode.
fn attached_xdp(attributes: &[LinkXdp]) -> Vec<AttachedXdp> {
    let single = attributes.iter().find_map(|attribute| match attribute {
        LinkXdp::Attached(XdpAttached::Driver) => Some(XdpMode::Native),
        LinkXdp::Attached(XdpAttached::SocketBuffer) => Some(XdpMode::Generic),
        LinkXdp::Attached(XdpAttached::Hardware) => Some(XdpMode::Offloaded),
        _ => None,
    });
    let mut programs: Vec<AttachedXdp> = Vec::new();
    for attribute in attributes {
        let found = match (attribute, single) {
            (LinkXdp::DrvProgId(program), _) => Some((XdpMode::Native, *program)),
            (LinkXdp::SkbProgId(program), _) => Some((XdpMode::Generic, *program)),
            (LinkXdp::HwProgId(program), _) => Some((XdpMode::Offloaded, *program)),
            (LinkXdp::ProgId(program), Some(mode)) => Some((mode, *program)),
            _ => None,
        };
        // A single program has its id twice: alone and under its mode.
        if let Some((mode, program)) = found
            && program != 0
            && !programs.iter().any(|known| known.mode == mode)
        {
            programs.push(AttachedXdp { mode, program });
        }
    }
    programs
}

/// A filter of this product, known by the name of its program.
fn own_filter(message: &TcMessage, direction: Direction) -> Option<TcFilter> {
    let options = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => Some(options),
        _ => None,
    })?;
    let is_own = options.iter().any(|option| match option {
        TcOption::Bpf(TcFilterBpfOption::ProgName(name)) => {
            Program::TC.iter().any(|program| program.name() == name)
        }
        _ => false,
    });
    let TcHandle { major, minor } = message.header.handle;
    // `tcm_info` holds the priority above the protocol.
    is_own.then_some(TcFilter {
        direction,
        priority: (message.header.info >> 16) as u16,
        handle: u32::from(major) << 16 | u32::from(minor),
    })
}

/// Name of the driver of a device; virtual interfaces have none.
fn driver(sysfs: &Path, interface: &str) -> Option<String> {
    let link = fs::read_link(sysfs.join("class/net").join(interface).join("device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
