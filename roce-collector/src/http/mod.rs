//! What the collector serves over HTTP. The only module that knows the server.
//!
//! | route | answer |
//! |---|---|
//! | `/metrics` | metrics of the last sweep |
//! | `/healthz` | 200 while sweeps go on, else 503 |
//! | `/readyz` | 200 while something is attached, else 503; says in words what is, and what it cannot see |
//! | `/api/v1/flows` | flows in JSON; `?qp=`, `?peer=`, `?limit=` |
//! | `/api/v1/incidents` | the latest failures of queue pairs in JSON; `?qp=`, `?peer=`, `?limit=` |
//! | `/api/v1/qps` | queue pairs that the kernel lists, in JSON; `?qp=`, `?device=`, `?state=`, `?pid=`, `?limit=` |

mod flows;
mod incidents;
mod qps;
mod routes;
mod server;
mod status;

pub use flows::{FlowsAnswer, FlowsQuestion, HookReport, MAX_LIMIT, OtherFlowsReport};
pub use incidents::IncidentsAnswer;
pub use qps::{DeviceReport, PortReport, QpsAnswer};
pub use server::serve;
pub use status::{ServerState, Status};
