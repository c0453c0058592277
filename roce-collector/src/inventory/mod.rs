//! The queue pairs of this host, from RDMA netlink.

pub mod netlink;
mod qp;

pub use qp::{PathMigration, QpState, QpType};
