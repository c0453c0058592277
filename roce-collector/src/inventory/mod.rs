//! The queue pairs of this host, from RDMA netlink: who made them, whom they talk to, and which fail.
//!
//! ```text
//! netlink::Reader (kernel or a fake) --KernelView--> Inventory::update --> QpEvent: new, gone, failed, ...
//! Owners (/proc or a tree for tests) --Owner-------->        |
//!                                                            v
//!                                       QpSnapshot: /api/v1/qps, metrics, whoever looks for a QP
//! ```
//!
//! [`Poller`] does one look after another, [`Pace`] says when. Everything but the socket and the files of
//! `/proc` is pure.

mod gone;
pub(crate) mod metrics;
mod model;
pub mod netlink;
mod owner;
mod pace;
mod poller;
mod qp;
mod report;

pub use gone::{Connection, GoneQps};
pub use metrics::Figures;
pub use model::{Change, DeviceFacts, Inventory, OwnerOf, PortFacts, Qp, QpEvent};
pub use owner::{Container, Owner, OwnerCounts, Owners};
pub use pace::Pace;
pub use poller::{Poller, QpSnapshot, ReadState};
pub use qp::{PathMigration, QpState, QpType};
pub use report::QpReport;
