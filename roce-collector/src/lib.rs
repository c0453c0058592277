//! RoCEv2 packet telemetry.

pub mod app;
pub mod attach;
pub mod bpf;
pub mod capture;
pub mod cli;
pub mod diagnosis;
pub mod explain;
pub mod export;
pub mod flow;
pub mod host;
pub mod http;
pub mod incident;
pub mod inventory;
pub mod live;
pub mod logs;
pub mod pair;
pub mod read;
pub mod recorder;
pub mod sweep;
pub mod timeline;
