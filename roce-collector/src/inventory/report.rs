//! Queue pairs in JSON: what `/api/v1/qps` serves.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Qp;
use crate::capture::Timestamp;

/// A queue pair. What is not known is `null`, never 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QpReport {
    /// RDMA device.
    pub device: String,
    /// Port, from 1; not known before INIT.
    pub port: Option<u32>,
    /// Network interface of the port.
    pub netdev: Option<String>,
    /// Local QPN.
    pub lqpn: u32,
    /// Remote QPN, of RC and UC from RTR on.
    pub rqpn: Option<u32>,
    /// Transport service, as in `rdma res show qp`: `RC`, `UD`, `GSI`, ...
    #[serde(rename = "type")]
    pub qp_type: Cow<'static, str>,
    /// What kind of queue pair of the driver it is: `DCI` or `REG_UMR` of mlx5.
    pub subtype: Option<String>,
    /// State: `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE` or `ERR`.
    pub state: Cow<'static, str>,
    /// When the state was first seen: it may be older.
    pub state_since: Timestamp,
    /// When the queue pair was first seen: it may be older.
    pub first_seen: Timestamp,
    /// PSN of the send queue, as the driver says; many say 0 until it is used.
    pub sq_psn: Option<u32>,
    /// PSN of the receive queue, likewise.
    pub rq_psn: Option<u32>,
    /// Path migration state: `MIGRATED`, `REARM` or `ARMED`.
    pub path_mig_state: Option<Cow<'static, str>>,
    /// Process that made it.
    pub pid: Option<u32>,
    /// The thread of it that did, where it was not the first one.
    pub tid: Option<u32>,
    /// Name of the process.
    pub comm: Option<String>,
    /// Name of the thread.
    pub thread: Option<String>,
    /// Container of the process: 64 hexadecimal digits.
    pub container_id: Option<String>,
    /// Kubernetes pod of the process.
    pub pod_uid: Option<String>,
    /// Kernel module that made it, where it was no process.
    pub kernel_name: Option<String>,
}

impl From<&Qp> for QpReport {
    fn from(qp: &Qp) -> Self {
        let owner = qp.owner.as_deref();
        let pid = qp.pid();
        Self {
            device: qp.device.as_ref().to_owned(),
            port: qp.port,
            netdev: qp.netdev.as_deref().map(str::to_owned),
            lqpn: qp.lqpn,
            rqpn: qp.rqpn,
            qp_type: qp.qp_type.name().into(),
            subtype: qp.subtype.as_deref().map(str::to_owned),
            state: qp.state.name().into(),
            state_since: qp.state_since,
            first_seen: qp.first_seen,
            sq_psn: qp.sq_psn,
            rq_psn: qp.rq_psn,
            path_mig_state: qp.path_migration.map(|state| state.name().into()),
            pid,
            tid: qp.task.filter(|task| pid != Some(*task)),
            comm: qp.comm().map(str::to_owned),
            thread: owner.and_then(|owner| owner.thread.clone()),
            container_id: owner.and_then(|owner| owner.container.as_ref()?.container_id.clone()),
            pod_uid: qp.pod_uid().map(str::to_owned),
            kernel_name: qp.kernel_name.as_deref().map(str::to_owned),
        }
    }
}
