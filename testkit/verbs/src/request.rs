//! The side that sends requests.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::exchange::{self, Endpoint};
use crate::options::Request;
use crate::pair::{BUFFER, Completion, Pair};
use crate::tell::{self, Log};

const POLL: Duration = Duration::from_micros(300);
/// Flips bits of a key's index, so that no region has it.
const WRONG_KEY: u32 = 0x0055_0000;
/// `IBV_WC_WR_FLUSH_ERR`
const FLUSHED: u32 = 5;

/// Sends until something fails, the messages are through or the time is up.
pub(crate) fn run(options: &Request) -> Result<ExitCode> {
    let largest = options.later_size.unwrap_or(0).max(options.size);
    ensure!(largest <= BUFFER, "message size {largest}: at most {BUFFER} bytes");
    ensure!(options.rate > 0, "rate 0: at least one message a second");
    let mut pair = Pair::create(&options.common)?;
    let stream = exchange::connect(options.connect)?;
    let peer = exchange::swap(&stream, pair.endpoint())?;
    pair.connect(&peer, &options.common)?;
    exchange::wait_until_ready(&stream)?;
    let (qp, own_gid) = (pair.endpoint().qp, pair.endpoint().gid);
    let mut log = Log {
        file: options.log.as_deref().map(Log::open).transpose()?,
        style: options.log_style,
        device: &options.common.device,
        peer: options.connect,
        own_gid,
        peer_gid: peer.gid,
    };
    tell::event("connected", SystemTime::now(), json!({ "qp": qp, "peer_qp": peer.qp }))?;
    log.info(&format!("NET/IB : connected to peer {} qpn {qp}", options.connect.ip()))?;

    let mut stream_of_messages = Messages { options, pair: &mut pair, peer, posted: 0, done: 0 };
    let failure = stream_of_messages.run()?;
    let done = stream_of_messages.done;
    let Some((time, failure)) = failure else {
        tell::event("done", SystemTime::now(), json!({ "messages": done }))?;
        return Ok(ExitCode::SUCCESS);
    };
    log.failure(time, &failure, done)?;
    let Completion { id, status, vendor_err } = failure;
    let state = pair.state();
    tell::event(
        "failed",
        time,
        json!({ "status": status, "vendor_err": vendor_err, "id": id, "qp": qp, "peer_qp": peer.qp,
                "messages": done, "state": state }),
    )?;
    // Applications print the first flush as well, and it must not become an error of its own.
    thread::sleep(Duration::from_millis(20));
    let rest = pair.completed_requests()?;
    if let Some(flush) = rest.iter().find(|it| it.status == FLUSHED) {
        log.failure(SystemTime::now(), flush, done)?;
    }
    thread::sleep(Duration::from_secs_f64(options.keep.max(0.0)));
    Ok(ExitCode::FAILURE)
}

/// A stream of messages at a steady rate.
struct Messages<'a> {
    options: &'a Request,
    pair: &'a mut Pair,
    peer: Endpoint,
    posted: u64,
    done: u64,
}

impl Messages<'_> {
    /// Returns the first failed completion and when it was seen.
    fn run(&mut self) -> Result<Option<(SystemTime, Completion)>> {
        let (start, limit) =
            (Instant::now(), Duration::from_secs_f64(self.options.seconds.max(0.0)));
        let last = self.options.messages.unwrap_or(u64::MAX);
        let interval = Duration::from_secs(1) / self.options.rate;
        let mut due = start;
        while self.done < last && start.elapsed() < limit {
            let now = Instant::now();
            let is_open = self.posted < last && self.posted - self.done < self.options.window;
            if now >= due && is_open {
                self.post()?;
                // What the window held back is not made up for: there is no burst behind a stall.
                due = now.max(due + interval);
            }
            let completions = self.pair.completed_requests()?;
            let is_idle = completions.is_empty();
            for completion in completions {
                if completion.status != 0 {
                    return Ok(Some((SystemTime::now(), completion)));
                }
                self.done += 1;
                if self.done == self.options.announce {
                    tell::event("streaming", SystemTime::now(), json!({ "messages": self.done }))?;
                }
            }
            if is_idle {
                thread::sleep(POLL);
            }
        }
        Ok(None)
    }

    fn post(&mut self) -> Result<()> {
        let options = self.options;
        let is_later = options.later_after.is_some_and(|count| self.posted >= count);
        let len = options.later_size.filter(|_| is_later).unwrap_or(options.size);
        let mut peer = self.peer;
        if options.bad_rkey_after.is_some_and(|count| self.posted >= count) {
            peer.rkey ^= WRONG_KEY;
        }
        self.pair.post(self.posted, options.operation, len, &peer)?;
        self.posted += 1;
        Ok(())
    }
}
