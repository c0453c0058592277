//! What the two sides tell each other over TCP.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// Time for the other side to come and to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// What one side must know of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) qp: u32,
    pub(crate) psn: u32,
    pub(crate) gid: Ipv6Addr,
    pub(crate) address: u64,
    pub(crate) rkey: u32,
}

impl Endpoint {
    fn line(&self) -> String {
        let Self { qp, psn, gid, address, rkey } = self;
        json!({ "qp": qp, "psn": psn, "gid": gid, "address": address, "rkey": rkey }).to_string()
    }

    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let number = |name: &str| value[name].as_u64();
        Some(Self {
            qp: number("qp")?.try_into().ok()?,
            psn: number("psn")?.try_into().ok()?,
            gid: value["gid"].as_str()?.parse().ok()?,
            address: number("address")?,
            rkey: number("rkey")?.try_into().ok()?,
        })
    }
}

/// Waits for one requester.
pub(crate) fn accept(listen: SocketAddr) -> Result<TcpStream> {
    let listener =
        TcpListener::bind(listen).with_context(|| format!("cannot listen at {listen}"))?;
    let (stream, _) = listener.accept().context("cannot accept a connection")?;
    Ok(stream)
}

/// Connects to a responder, which may not listen yet.
pub(crate) fn connect(address: SocketAddr) -> Result<TcpStream> {
    let start = Instant::now();
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) if start.elapsed() > PATIENCE => {
                return Err(error).with_context(|| format!("cannot connect to {address}"));
            }
            Err(_) => thread::sleep(POLL),
        }
    }
}

/// Tells `own` and returns what the other side tells.
pub(crate) fn swap(stream: &TcpStream, own: &Endpoint) -> Result<Endpoint> {
    let line = say(stream, &own.line())?;
    match Endpoint::parse(&line) {
        Some(endpoint) => Ok(endpoint),
        None => bail!("the other side says {line:?}, which is no endpoint"),
    }
}

/// Tells that this side is ready, and waits until the other is: a QP that is not yet there would
/// cost the first requests their answers.
pub(crate) fn wait_until_ready(stream: &TcpStream) -> Result<()> {
    let line = say(stream, "ready")?;
    if line != "ready" {
        bail!("the other side says {line:?} instead of being ready");
    }
    Ok(())
}

fn say(mut stream: &TcpStream, line: &str) -> Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    writeln!(stream, "{line}").context("cannot tell the other side")?;
    let mut answer = String::new();
    BufReader::with_capacity(1, stream).read_line(&mut answer).context("the other side is gone")?;
    Ok(answer.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn an_endpoint_survives_its_line() {
        let gid = "::ffff:10.0.0.1".parse().expect("an address");
        let endpoint =
            Endpoint { qp: 17, psn: 0xff_ffff, gid, address: 1 << 40, rkey: 0xffff_ff55 };
        assert_eq!(Endpoint::parse(&endpoint.line()), Some(endpoint));
        assert_eq!(Endpoint::parse("{\"qp\": 17}"), None);
    }
}
