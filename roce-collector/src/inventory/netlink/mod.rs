//! RDMA netlink: what the kernel tells about devices, ports and queue pairs.
//!
//! ```text
//! Request::to_bytes -> RdmaSocket::send, receive -> Answer::take -> records -> KernelView
//! ```
//!
//! Requests and answers are pure functions of bytes; the socket is a trait with the kernel as one
//! implementation. The format is that of `include/uapi/rdma/rdma_netlink.h`, and what the kernel puts into
//! it that of `drivers/infiniband/core/nldev.c`:
//!
//! - Queue pairs are dumped for one device at a time, some 400 in a datagram, sorted by QPN; for each one
//!   the driver is asked (`ib_query_qp`), so the state is that of the NIC, and on a NIC a question to its
//!   firmware.
//! - When a queue pair cannot be asked, the dump ends with that error and without those behind it.
//! - Between two datagrams the place is kept as a count. Where queue pairs go away meanwhile, others are
//!   left out of the dump, without any sign (no `NLM_F_DUMP_INTR`), and where some come, others come twice.
//! - No privilege is needed. The process that made a queue pair is given as the number of the thread that
//!   did, in the PID namespace of who asks, and left out when it has none there or is no more.

mod answer;
mod ids;
mod reader;
mod records;
mod request;
mod socket;

pub use answer::{Answer, Losses};
pub use ids::Command;
pub use reader::{DeviceView, KernelView, ReadCounts, ReadError, Reader};
pub use records::{Damaged, DeviceRecord, PortRecord, QpRecord, Record};
pub use request::Request;
pub use socket::{KernelSocket, RdmaSocket, is_absent};
