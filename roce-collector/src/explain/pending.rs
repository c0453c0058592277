//! Records that more lines may belong to.
//!
//! A queue in the order of first lines, bounded. A record leaves it when enough lines have passed, so
//! records come out in the order of the log.

use std::collections::VecDeque;

use super::cqe::{Dump, ErrorCqe, Row};
use super::decoder::DecoderLimits;
use super::producers::{Found, Sequel};
use super::record::{ErrorRecord, Producer};
use super::status::WcStatus;
use super::text;

/// Lines within which the parts of one message come. Other processes write in between.
const SEQUEL_LINES: u64 = 64;
/// Lines within which an application speaks of what its driver dumped, where nothing names the host.
const APPLICATION_LINES: u64 = 4;
/// Lines within which the same message is about the same failure.
const REPEAT_LINES: u64 = 32;
/// Nor is it when so much time passed.
const MAX_NANOS_APART: u64 = 60_000_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Pending {
    entries: VecDeque<Entry>,
    limits: DecoderLimits,
}

#[derive(Debug)]
struct Entry {
    record: ErrorRecord,
    last_line: u64,
    /// What may still come, and the rows that came.
    awaits: Option<Sequel>,
    dump: Dump,
}

impl Pending {
    pub(super) fn new(limits: DecoderLimits) -> Self {
        Self { entries: VecDeque::new(), limits }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether rows are due, which no needle finds.
    pub(super) fn awaits_rows(&self) -> bool {
        self.entries.iter().any(|entry| entry.awaits == Some(Sequel::CqeDump))
    }

    /// Hands out records whose time is over, before line `number` is looked at.
    pub(super) fn expire(&mut self, number: u64, done: &mut Vec<ErrorRecord>) {
        for entry in &mut self.entries {
            if number.saturating_sub(entry.last_line) > SEQUEL_LINES {
                entry.awaits = None;
            }
        }
        let hold = self.limits.hold_lines;
        while self.entries.front().is_some_and(|entry| {
            number.saturating_sub(entry.last_line) > hold || number < entry.record.line
        }) {
            done.extend(self.entries.pop_front().map(|entry| entry.record));
        }
    }

    /// Hands out everything.
    pub(super) fn finish(&mut self, done: &mut Vec<ErrorRecord>) {
        done.extend(self.entries.drain(..).map(|entry| entry.record));
    }

    /// Takes what a line says.
    pub(super) fn add(&mut self, found: Found, done: &mut Vec<ErrorRecord>) {
        let Found { mut record, continues, is_tail, then } = found;
        record.secondaries = u64::from(record.status == Some(WcStatus::WR_FLUSH));
        if let Some(sequel) = continues {
            let awaiting = |entry: &Entry| {
                entry.awaits == Some(sequel)
                    && entry.record.producer == record.producer
                    && is_same_origin(&entry.record, &record)
                    && !contradicts(&entry.record, &record)
            };
            if let Some(at) = self.entries.iter().rposition(awaiting) {
                self.entries[at].absorb(record, &self.limits);
                self.entries[at].awaits = then.or_else(|| self.entries[at].awaits_more(sequel));
                self.settle(at);
                return;
            }
            if is_tail {
                return;
            }
        }
        if self.joins_dump(&record) || (then.is_none() && self.folds(&record, self.entries.len())) {
            return;
        }
        if self.entries.len() >= self.limits.max_pending {
            done.extend(self.entries.pop_front().map(|entry| entry.record));
        }
        self.entries.push_back(Entry::new(record, then));
    }

    /// Takes a row of a dump, if one is due.
    pub(super) fn add_row(&mut self, row: &Row, mut line: ErrorRecord) -> bool {
        let awaiting = |entry: &Entry| {
            entry.awaits == Some(Sequel::CqeDump) && is_compatible_origin(&entry.record, &line)
        };
        let Some(at) = self.entries.iter().rposition(awaiting) else { return false };
        let entry = &mut self.entries[at];
        line.producer = entry.record.producer;
        entry.absorb(line, &self.limits);
        if let Some(cqe) = entry.dump.add(row) {
            entry.fill_from(&cqe);
            entry.awaits = Some(Sequel::Application);
            self.settle(at);
        }
        true
    }

    /// The application's line about a failure that its driver has just dumped.
    fn joins_dump(&mut self, record: &ErrorRecord) -> bool {
        let is_driver = matches!(record.producer, Producer::Libmlx5 | Producer::Mlx5Kernel);
        if is_driver || record.status.is_none() {
            return false;
        }
        let is_dumped = |entry: &Entry| {
            let dump = &entry.record;
            let is_near = record.line.saturating_sub(entry.last_line) <= APPLICATION_LINES;
            let is_same_host = dump.host.is_some() && dump.host == record.host;
            entry.awaits == Some(Sequel::Application)
                && (is_near || is_same_host)
                && dump.status == record.status
                && (record.vendor_err.is_none() || dump.vendor_err == record.vendor_err)
                && is_compatible_origin(dump, record)
                && agree(dump.local.qp, record.local.qp)
        };
        let Some(at) = self.entries.iter().rposition(is_dumped) else { return false };
        self.entries[at].absorb(record.clone(), &self.limits);
        self.entries[at].awaits = None;
        true
    }

    /// A record that got its last part may turn out to belong to an earlier one.
    fn settle(&mut self, at: usize) {
        let is_complete = matches!(self.entries[at].awaits, None | Some(Sequel::Application));
        if is_complete {
            let record = self.entries[at].record.clone();
            if self.folds(&record, at) {
                self.entries.remove(at);
            }
        }
    }

    /// Adds the lines of `record` to one of the first `before` records, if they are about the same failure.
    fn folds(&mut self, record: &ErrorRecord, before: usize) -> bool {
        let is_flush = record.status == Some(WcStatus::WR_FLUSH);
        let belongs = |entry: &Entry| {
            let known = &entry.record;
            let lines = record.line.saturating_sub(entry.last_line);
            let is_near = lines <= REPEAT_LINES || (is_flush && lines <= self.limits.hold_lines);
            is_near
                && known.producer == record.producer
                && is_same_origin(known, record)
                && is_same_time(known, record)
                && (is_repeated(known, record) || (is_flush && is_flushed_by(known, record)))
        };
        let Some(at) = self.entries.range(..before).rposition(belongs) else { return false };
        let entry = &mut self.entries[at];
        entry.record.secondaries += record.secondaries;
        entry.add_lines(record, &self.limits);
        true
    }
}

impl Entry {
    fn new(record: ErrorRecord, awaits: Option<Sequel>) -> Self {
        Self { last_line: record.line, record, awaits, dump: Dump::new() }
    }

    /// What may come behind `sequel`: UCX prints QP and address in one line or in two.
    fn awaits_more(&self, sequel: Sequel) -> Option<Sequel> {
        (sequel == Sequel::UcxWorkRequest && self.record.peer.qp.is_none()).then_some(sequel)
    }

    fn fill_from(&mut self, cqe: &ErrorCqe) {
        let record = &mut self.record;
        record.syndrome = Some(cqe.syndrome);
        record.vendor_err = Some(u32::from(cqe.vendor_err));
        record.status = record.status.or(WcStatus::from_mlx5_syndrome(cqe.syndrome));
        if record.status.is_some() {
            record.event = None;
        }
        record.local.qp = record.local.qp.or(Some(cqe.qpn));
        record.srqn = (cqe.srqn != 0).then_some(cqe.srqn);
        record.wqe_counter = Some(cqe.wqe_counter);
        record.role = cqe.role;
        record.operation = cqe.operation();
    }

    /// Adds what a later line of the same failure says.
    fn absorb(&mut self, later: ErrorRecord, limits: &DecoderLimits) {
        self.add_lines(&later, limits);
        let record = &mut self.record;
        macro_rules! fill {
            ($($($field:ident).+),+ $(,)?) => {
                $(record.$($field).+ = record.$($field).+.take().or(later.$($field).+);)+
            };
        }
        fill!(
            time,
            time_text,
            host,
            pid,
            rank,
            producer_format,
            status,
            vendor_err,
            syndrome,
            event,
            device,
            port,
            local.ip,
            local.gid,
            local.gid_index,
            local.qp,
            peer.host,
            peer.ip,
            peer.port,
            peer.gid,
            peer.qp,
            role,
            operation,
            request,
            opcode_raw,
            len_raw,
            wr_id,
            traffic_class,
            queue,
            cqn,
            srqn,
            wqe_counter,
            posted,
            completed,
        );
        // That there was a failed completion is said better by its status.
        if record.status.is_some() {
            record.event = None;
        }
        record.is_truncated |= later.is_truncated;
        record.secondaries = u64::from(record.status == Some(WcStatus::WR_FLUSH));
    }

    fn add_lines(&mut self, later: &ErrorRecord, limits: &DecoderLimits) {
        self.last_line = self.last_line.max(later.line + later.lines - 1);
        self.record.lines += later.lines;
        let raw = &mut self.record.raw;
        if raw.len() + 1 + later.raw.len() <= limits.max_raw {
            raw.push('\n');
            raw.push_str(&later.raw);
        }
    }
}

/// The first `max` bytes of a line, for [`ErrorRecord::raw`].
pub(super) fn raw(line: &str, max: usize) -> String {
    text::start(line, max).to_owned()
}

fn is_same_origin(one: &ErrorRecord, other: &ErrorRecord) -> bool {
    one.rank == other.rank && one.host == other.host && one.pid == other.pid
}

/// The same as far as both say.
fn is_compatible_origin(one: &ErrorRecord, other: &ErrorRecord) -> bool {
    one.rank == other.rank
        && agree(one.host.as_ref(), other.host.as_ref())
        && agree(one.pid, other.pid)
}

fn agree<T: PartialEq + Copy>(one: Option<T>, other: Option<T>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Two parts of one message cannot say different things.
fn contradicts(one: &ErrorRecord, other: &ErrorRecord) -> bool {
    !agree(one.status, other.status)
        || !agree(one.local.qp, other.local.qp)
        || !agree(one.device.as_ref(), other.device.as_ref())
}

fn is_same_time(one: &ErrorRecord, other: &ErrorRecord) -> bool {
    match (one.time, other.time) {
        (Some(one), Some(other)) => one.as_nanos().abs_diff(other.as_nanos()) <= MAX_NANOS_APART,
        _ => true,
    }
}

/// The same message again. One that names nothing may be about anything; of flushed work it does not matter.
fn is_repeated(one: &ErrorRecord, other: &ErrorRecord) -> bool {
    let names_something = other.status == Some(WcStatus::WR_FLUSH)
        || other.queue.is_some()
        || other.pid.is_some()
        || other.peer.ip.is_some()
        || other.peer.host.is_some()
        || other.local.qp.is_some()
        || other.device.is_some();
    names_something
        && one.producer_format == other.producer_format
        && one.status == other.status
        && one.vendor_err == other.vendor_err
        && one.event == other.event
        && one.device == other.device
        && one.port == other.port
        && one.queue == other.queue
        && one.cqn == other.cqn
        && one.local == other.local
        && one.peer == other.peer
}

/// Work that was flushed because of `cause`: on the same connection, as far as the lines name it.
fn is_flushed_by(cause: &ErrorRecord, flushed: &ErrorRecord) -> bool {
    let names = |one: Option<u32>, other: Option<u32>| one.is_some() && one == other;
    let is_failure = cause.status.is_some();
    let same_peer = (cause.peer.ip.is_some() || cause.peer.host.is_some())
        && cause.peer.host == flushed.peer.host
        && cause.peer.ip == flushed.peer.ip
        && cause.peer.port == flushed.peer.port;
    // A device of NVMe is one connection; an RDMA device is many.
    let same_controller = flushed.producer == Producer::Nvme
        && flushed.device.is_some()
        && cause.device == flushed.device;
    is_failure
        && agree(cause.local.qp, flushed.local.qp)
        && (same_peer
            || names(cause.local.qp, flushed.local.qp)
            || names(cause.cqn, flushed.cqn)
            || (cause.queue.is_some() && cause.queue == flushed.queue)
            || same_controller)
}
