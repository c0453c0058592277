//! What stands in front of a message: time, rank, host, process.

use std::borrow::Cow;

use serde::Deserialize;

use super::record::ErrorRecord;
use super::time::{Clock, clock};
use crate::capture::Timestamp;

/// Layers of prefixes: a launcher's label, a container's time, the program's own time, its name.
const MAX_LAYERS: usize = 5;

/// The message of a line, and what its prefixes say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    pub(super) time: Option<Timestamp>,
    pub(super) time_text: Option<&'a str>,
    pub(super) rank: Option<&'a str>,
    pub(super) host: Option<&'a str>,
    pub(super) pid: Option<u32>,
    /// What is left: the program's own words, with whatever prefix is unknown.
    pub(super) message: &'a str,
}

/// A line of Docker's `json-file` log driver.
#[derive(Deserialize)]
struct DockerLine<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
}

/// Takes the message out of a line that Docker wrapped into JSON, with Docker's time in front of it as
/// the container runtimes of Kubernetes have it.
pub(super) fn unwrap(line: &str) -> Cow<'_, str> {
    if !line.starts_with("{\"log\":") {
        return Cow::Borrowed(line);
    }
    match serde_json::from_str::<DockerLine<'_>>(line) {
        Ok(DockerLine { log, time }) => {
            let time = time.as_deref().unwrap_or_default();
            Cow::Owned(format!("{time} stderr F {}", log.trim_end()))
        }
        Err(_) => Cow::Borrowed(line),
    }
}

impl<'a> Envelope<'a> {
    /// Reads the prefixes of a line.
    pub(super) fn open(line: &'a str) -> Self {
        let mut envelope = Self { message: line.trim(), ..Self::default() };
        for _ in 0..MAX_LAYERS {
            let before = envelope.message;
            envelope.take_layer();
            if envelope.message == before {
                break;
            }
        }
        envelope
    }

    /// Puts what is known into `record`.
    pub(super) fn address(&self, record: &mut ErrorRecord) {
        record.time = self.time;
        record.time_text = self.time_text.map(str::to_owned);
        record.rank = self.rank.map(str::to_owned);
        record.host = record.host.take().or_else(|| self.host.map(str::to_owned));
        record.pid = record.pid.or(self.pid);
    }

    fn take_layer(&mut self) {
        if let Some(Clock { time, text, rest }) = clock(self.message) {
            // The outermost clock that knows its zone is the best; else the outermost.
            if self.time.is_none() && (self.time_text.is_none() || time.is_some()) {
                (self.time, self.time_text) = (time, Some(text));
            }
            self.message = rest;
            self.take_stream();
            self.take_syslog_name();
        } else if let Some(rest) = kernel_record(self.message) {
            self.message = rest;
        } else if let Some((rank, rest)) = rank(self.message) {
            self.rank = self.rank.or(Some(rank));
            self.message = rest;
        } else if let Some((host, pid, rest)) = process(self.message) {
            self.host = Some(host);
            self.pid = Some(pid);
            self.message = rest;
        }
    }

    /// `stderr F `: a container's line, whole or in part.
    fn take_stream(&mut self) {
        for stream in ["stderr F ", "stdout F ", "stderr P ", "stdout P "] {
            if let Some(rest) = self.message.strip_prefix(stream) {
                self.message = rest.trim_start();
            }
        }
    }

    /// `host kernel: ` and `host name[123]: `.
    fn take_syslog_name(&mut self) {
        let Some((host, rest)) = self.message.split_once(' ') else { return };
        let Some((tag, rest)) = rest.split_once(": ") else { return };
        let is_name = |text: &str| {
            let mut bytes = text.bytes();
            !text.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b))
        };
        let (name, pid) = match tag.strip_suffix(']').and_then(|tag| tag.split_once('[')) {
            Some((name, pid)) => (name, pid.parse().ok()),
            None => (tag, None),
        };
        if is_name(host) && is_name(name) && (pid.is_some() || name == "kernel") {
            self.host = self.host.or(Some(host));
            self.pid = self.pid.or(pid);
            self.message = rest.trim_start();
        }
    }
}

/// A record of `/dev/kmsg`, `6,1234,5678901,-;message`, or syslog's `<6>`.
fn kernel_record(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('<') {
        let (priority, rest) = rest.split_once('>')?;
        let is_number = priority.bytes().all(|b| b.is_ascii_digit()) && !priority.is_empty();
        return is_number.then(|| rest.trim_start());
    }
    let (head, message) = text.split_once(';')?;
    let mut fields = head.split(',');
    let has_numbers = (0..3).all(|_| {
        fields.next().is_some_and(|f| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()))
    });
    (has_numbers && fields.next().is_some()).then_some(message)
}

/// `[1,3]<stderr>:` of mpirun, `[rank3]:` of torchrun, `12: ` of srun.
fn rank(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let (label, rest) = text.split_once("]<std").map_or_else(
            || text.split_once("]:"),
            |(label, rest)| rest.split_once(">:").map(|(_, rest)| (label, rest)),
        )?;
        let label = label.strip_prefix('[')?;
        let is_label = label.len() <= 16
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b',')
            && label.bytes().any(|b| b.is_ascii_digit());
        return is_label.then(|| (label, rest.trim_start()));
    }
    let (label, rest) = text.split_once(": ")?;
    let is_label = (1..=7).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_digit());
    is_label.then(|| (label, rest.trim_start()))
}

/// `host:4242:4300 ` of NCCL, `[host:31180:0:31180] ` of UCX.
fn process(text: &str) -> Option<(&str, u32, &str)> {
    let (name, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.split_once(' ')?,
    };
    let mut fields = name.split(':');
    let host = fields.next()?;
    let pid = fields.next()?.parse().ok()?;
    let is_host = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_');
    let are_numbers = fields.clone().count() >= 1
        && fields.all(|f| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()));
    (is_host && are_numbers).then(|| (host, pid, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(line: &str) -> (Option<&str>, Option<&str>, Option<u32>, &str) {
        let Envelope { rank, host, pid, message, .. } = Envelope::open(line);
        (rank, host, pid, message)
    }

    #[test]
    fn processes() {
        assert_eq!(
            open("host-a:4242:4300 [0] x.cc:1 NCCL"),
            (None, Some("host-a"), Some(4242), "[0] x.cc:1 NCCL")
        );
        assert_eq!(
            open("[host-a:31180:0:31180] ib.c:1 x"),
            (None, Some("host-a"), Some(31180), "ib.c:1 x")
        );
        assert_eq!(
            open("[1600000000.000000] [host-a:1:0] x"),
            (None, Some("host-a"), Some(1), "x")
        );
        assert_eq!(open("rdma.c: 2501:f: x"), (None, None, None, "rdma.c: 2501:f: x"));
    }

    #[test]
    fn launchers() {
        let host = Some("h");
        assert_eq!(open("[1,3]<stderr>:h:1:2 [0] x"), (Some("1,3"), host, Some(1), "[0] x"));
        assert_eq!(
            open("1000: [2026-02-02 12:15:56] h:1:2 [0] x"),
            (Some("1000"), host, Some(1), "[0] x")
        );
        assert_eq!(open("[rank12]:h:1:2 x"), (Some("rank12"), host, Some(1), "x"));
    }

    #[test]
    fn containers_and_syslog() {
        let cri = "2026-11-29T12:00:00.123456789Z stderr F h:1:2 [0] x";
        assert_eq!(open(cri), (None, Some("h"), Some(1), "[0] x"));
        assert!(Envelope::open(cri).time.is_some());
        let syslog = "Nov 29 12:00:00 node7 kernel: [ 12.5] mlx5_core x";
        assert_eq!(open(syslog), (None, Some("node7"), None, "mlx5_core x"));
        assert_eq!(Envelope::open(syslog).time_text, Some("Nov 29 12:00:00"));
        let daemon = "2026-11-29T12:00:00+01:00 node7 spdk_tgt[77]: x";
        assert_eq!(open(daemon), (None, Some("node7"), Some(77), "x"));
        assert_eq!(open("3,1234,5678901,-;infiniband x"), (None, None, None, "infiniband x"));
        assert_eq!(open("<4>[ 12.5] x"), (None, None, None, "x"));
    }

    #[test]
    fn docker() {
        let line = r#"{"log":"h:1:2 [0] peer 10.0.0.1\u003c5\u003e\n","stream":"stderr","time":"2026-11-29T12:00:00.1Z"}"#;
        let unwrapped = unwrap(line);
        let envelope = Envelope::open(&unwrapped);
        assert_eq!((envelope.host, envelope.message), (Some("h"), "[0] peer 10.0.0.1<5>"));
        assert!(envelope.time.is_some());
        assert_eq!(unwrap("{\"log\": broken"), "{\"log\": broken");
    }
}
