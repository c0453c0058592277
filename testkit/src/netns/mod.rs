//! Network namespaces and veth pairs that clean up after themselves. Needs root and iproute2.
//!
//! ```no_run
//! use roce_testkit::netns::{Namespace, VethConfig, VethPair};
//!
//! # fn main() -> anyhow::Result<()> {
//! let (left, right) = (Namespace::create("left")?, Namespace::create("right")?);
//! let veth = VethPair::create(&left, &right, &VethConfig { mtu: 9000, ..VethConfig::default() })?;
//! right.command("ip").args(["link", "show", veth.right_name()]).status()?;
//! # Ok(())
//! # }
//! ```

mod ip_command;
mod namespace;
mod offload;
mod quiet;
mod veth;

pub use namespace::{Namespace, remove_stale};
pub use veth::{VethConfig, VethEnd, VethPair};
