//! The side that takes requests.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::json;

use crate::exchange;
use crate::options::Respond;
use crate::pair::{DEPTH, Pair};
use crate::tell;

const POLL: Duration = Duration::from_millis(1);

/// Takes requests until the requester closes its TCP connection.
pub(crate) fn run(options: &Respond) -> Result<()> {
    let mut pair = Pair::create(&options.common)?;
    let mut left = options.receives.unwrap_or(u64::MAX);
    for _ in 0..u64::from(DEPTH).min(left) {
        pair.post_receive()?;
        left -= 1;
    }
    let stream = exchange::accept(options.listen)?;
    let peer = exchange::swap(&stream, pair.endpoint())?;
    pair.connect(&peer, &options.common)?;
    exchange::wait_until_ready(&stream)?;
    let numbers = json!({ "qp": pair.endpoint().qp, "peer_qp": peer.qp });
    tell::event("connected", SystemTime::now(), numbers)?;
    stream.set_nonblocking(true)?;
    let mut has_failed = false;
    while !is_closed(&stream) {
        for completion in pair.completed_receives()? {
            if completion.status != 0 && !has_failed {
                has_failed = true;
                let status = json!({ "status": completion.status, "state": pair.state() });
                tell::event("receive_failed", SystemTime::now(), status)?;
            }
            if completion.status == 0 && left > 0 {
                pair.post_receive()?;
                left -= 1;
            }
        }
        thread::sleep(POLL);
    }
    tell::event("closed", SystemTime::now(), json!({ "state": pair.state() }))
}

/// Whether the requester is gone: it sends nothing more over TCP while it lives.
fn is_closed(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}
