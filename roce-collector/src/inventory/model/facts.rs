//! What is known about a queue pair and a device.

use std::fmt;
use std::sync::Arc;

use crate::capture::Timestamp;
use crate::inventory::netlink::{DeviceView, PortRecord};
use crate::inventory::owner::Owner;
use crate::inventory::qp::{PathMigration, QpState, QpType};

/// A queue pair. What is not known is `None`, never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qp {
    /// Name of its RDMA device.
    pub device: Arc<str>,
    /// Index of the device, as long as that lives.
    pub device_index: u32,
    /// Port; not known before INIT.
    pub port: Option<u32>,
    /// Network interface of the port, where it is in the network namespace of the collector.
    pub netdev: Option<Arc<str>>,
    /// Local QPN.
    pub lqpn: u32,
    /// Remote QPN, of RC and UC from RTR on.
    pub rqpn: Option<u32>,
    /// Transport service.
    pub qp_type: QpType,
    /// What kind of queue pair of the driver it is: `DCI` or `REG_UMR` of mlx5.
    pub subtype: Option<Arc<str>>,
    /// State at the last sweep.
    pub state: QpState,
    /// PSN of the send queue, as the driver says.
    pub sq_psn: Option<u32>,
    /// PSN of the receive queue, as the driver says.
    pub rq_psn: Option<u32>,
    /// Path migration state.
    pub path_migration: Option<PathMigration>,
    /// Task that made it, where the kernel ever told.
    pub task: Option<u32>,
    /// Who that is.
    pub owner: Option<Arc<Owner>>,
    /// The kernel module that made it, where it was no process.
    pub kernel_name: Option<Arc<str>>,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When its state was first seen.
    pub state_since: Timestamp,
    /// Sweeps in a row that did not have it: 0 when the last one did.
    pub missed: u32,
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Name.
    pub device: Arc<str>,
    /// Index, as long as it lives.
    pub index: u32,
    /// Ports and the network interface of each, where it is in the network namespace of the collector.
    pub ports: Vec<PortFacts>,
    /// Whether the last sweep had all of its queue pairs.
    pub is_whole: bool,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFacts {
    /// Number, from 1.
    pub port: u32,
    /// Network interface.
    pub netdev: Option<Arc<str>>,
}

impl From<DeviceView> for DeviceFacts {
    fn from(view: DeviceView) -> Self {
        let ports = view.ports.into_iter().map(|PortRecord { port, netdev, .. }| PortFacts {
            port,
            netdev: netdev.map(Arc::from),
        });
        let DeviceView { index, name, is_whole, .. } = view;
        Self { device: name.into(), index, ports: ports.collect(), is_whole }
    }
}

impl DeviceFacts {
    /// Network interface of a port; of a device with one port also of a queue pair that has none yet.
    pub(super) fn netdev(&self, port: Option<u32>) -> Option<&Arc<str>> {
        let found = match (port, &self.ports[..]) {
            (None, [only]) => Some(only),
            (port, ports) => ports.iter().find(|known| Some(known.port) == port),
        };
        found?.netdev.as_ref()
    }
}

impl Qp {
    /// Number of the process that made it, in the PID namespace of the collector. Where `/proc` hides the
    /// process it is the number of the thread that did, which is the same for most.
    pub fn pid(&self) -> Option<u32> {
        self.owner.as_ref().and_then(|owner| owner.pid).or(self.task)
    }

    /// Name of that process.
    pub fn comm(&self) -> Option<&str> {
        self.owner.as_ref()?.comm.as_deref()
    }

    /// Kubernetes pod of that process.
    pub fn pod_uid(&self) -> Option<&str> {
        self.owner.as_ref()?.container.as_ref()?.pod_uid.as_deref()
    }
}

impl fmt::Display for Qp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.subtype.as_deref().unwrap_or(self.qp_type.name());
        write!(f, "{kind} QP {:#x} of {}", self.lqpn, self.device)?;
        if let Some(port) = self.port {
            write!(f, "/{port}")?;
        }
        if let Some(netdev) = &self.netdev {
            write!(f, " ({netdev})")?;
        }
        if let Some(rqpn) = self.rqpn {
            write!(f, " to QP {rqpn:#x}")?;
        }
        if let Some(name) = &self.kernel_name {
            write!(f, ", made by the kernel ({name})")?;
        }
        if let Some(pid) = self.pid() {
            write!(f, ", made by process {pid}")?;
        }
        if let Some(comm) = self.comm() {
            write!(f, " ({})", comm.escape_debug())?;
        }
        if let Some(pod) = self.pod_uid() {
            write!(f, " in pod {pod}")?;
        }
        Ok(())
    }
}
