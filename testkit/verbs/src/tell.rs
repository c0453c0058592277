//! What this program says: events on standard output, errors into the log of the application.

use std::fs::{File, OpenOptions};
use std::io::{Write, stdout};
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::options::LogStyle;
use crate::pair::Completion;

/// Prints an event, with the time in nanoseconds since 1970 as `t`.
pub(crate) fn event(name: &str, time: SystemTime, mut fields: Value) -> Result<()> {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    fields["event"] = json!(name);
    fields["t"] = json!(since_epoch.as_nanos() as u64);
    let mut out = stdout().lock();
    writeln!(out, "{fields}").and_then(|()| out.flush()).context("cannot print an event")
}

/// The log of an application.
pub(crate) struct Log<'a> {
    pub(crate) file: Option<File>,
    pub(crate) style: LogStyle,
    pub(crate) device: &'a str,
    pub(crate) peer: SocketAddr,
    pub(crate) own_gid: Ipv6Addr,
    pub(crate) peer_gid: Ipv6Addr,
}

impl Log<'_> {
    /// Opens `path` for appending.
    pub(crate) fn open(path: &Path) -> Result<File> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.with_context(|| format!("cannot open the log {}", path.display()))
    }

    /// Writes a line that is no error.
    pub(crate) fn info(&mut self, text: &str) -> Result<()> {
        let line = match self.style {
            LogStyle::Nccl => format!("{} NCCL INFO {text}", prefix(SystemTime::now())),
            LogStyle::Perftest => text.to_owned(),
        };
        self.write(&line)
    }

    /// Writes what the application would say of a failed work completion.
    pub(crate) fn failure(
        &mut self,
        time: SystemTime,
        completion: &Completion,
        done: u64,
    ) -> Result<()> {
        let Completion { id, status, vendor_err } = completion;
        let line = match self.style {
            LogStyle::Nccl => format!(
                "{} transport/net_ib.cc:2132 NCCL WARN NET/IB: Got completion from peer {}<{}> with \
                 status={status} opcode=0 len=0 vendor err {vendor_err} (Send) localGid {} \
                 remoteGids{} hca {}",
                prefix(time),
                self.peer.ip(),
                self.peer.port(),
                self.own_gid,
                self.peer_gid,
                self.device,
            ),
            LogStyle::Perftest => format!(
                " Completion with error at client\n Failed status {status}: wr_id {id} syndrom \
                 {vendor_err:#x}\nscnt={}, ccnt={done}",
                done + 1,
            ),
        };
        self.write(&line)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        writeln!(file, "{line}").context("cannot write the log")
    }
}

/// Time, host, process and rank, as NCCL has them before its lines.
fn prefix(time: SystemTime) -> String {
    let time = humantime::format_rfc3339_micros(time);
    format!("[{time}] lab:{pid}:{pid} [0]", pid = process::id())
}
