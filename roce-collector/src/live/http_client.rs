//! Asks one server over HTTP/1.1.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::LiveError;

/// Time for a connection. Collectors are near.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for an answer; a collector gives up after five seconds itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);
/// Bytes of an answer: ten thousand flows with everything they can have.
const MAX_BODY: usize = 32 << 20;

const DEFAULT_PORT: u16 = 80;

/// Where a collector serves HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorAddress {
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// As in a URL.
    authority: String,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum GetError {
    /// Nobody is there.
    #[error("{0}")]
    Connect(#[source] io::Error),
    #[error("no connection within {} s", CONNECT_TIMEOUT.as_secs())]
    ConnectTimeout,
    #[error("no answer within {} s", ANSWER_TIMEOUT.as_secs())]
    Timeout,
    #[error("its answer is longer than {} MiB", MAX_BODY >> 20)]
    TooLong,
    #[error("it does not speak HTTP: {0}")]
    Protocol(String),
}

impl FromStr for CollectorAddress {
    type Err = LiveError;

    /// Reads `http://HOST:PORT`, or that without `http://`.
    fn from_str(given: &str) -> Result<Self, LiveError> {
        let refuse = |reason: &str| LiveError::Address {
            given: given.to_owned(),
            reason: reason.to_owned(),
        };
        let full = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
        let uri: Uri = full.parse().map_err(|error| refuse(&format!("{error}")))?;
        if uri.scheme_str() != Some("http") {
            return Err(refuse("only http is spoken"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refuse("a path is too much"));
        }
        let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("user names are not sent"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(refuse("it has no host"));
        }
        let port = authority.port_u16().unwrap_or(DEFAULT_PORT);
        Ok(Self { host, port, authority: authority.to_string() })
    }
}

impl std::fmt::Display for CollectorAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "http://{}", self.authority)
    }
}

impl CollectorAddress {
    /// Asks for `path`, with a query if it has one, over a connection of its own.
    pub(super) async fn get(&self, path: &str) -> Result<Answer, GetError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(GetError::Connect)?,
            Err(_) => return Err(GetError::ConnectTimeout),
        };
        match timeout(ANSWER_TIMEOUT, self.ask(stream, path)).await {
            Ok(answer) => answer,
            Err(_) => Err(GetError::Timeout),
        }
    }

    async fn ask(&self, stream: TcpStream, path: &str) -> Result<Answer, GetError> {
        let protocol = |error: hyper::Error| GetError::Protocol(words(&error));
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(protocol)?;
        let connection = AbortOnDrop(tokio::spawn(connection));
        let request = Request::get(path)
            .header(HOST, self.authority.as_str())
            .body(Empty::<Bytes>::new())
            .map_err(|error| GetError::Protocol(error.to_string()))?;
        let response = sender.send_request(request).await.map_err(protocol)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                GetError::TooLong
            } else {
                GetError::Protocol(error.to_string())
            }
        })?;
        drop(connection);
        Ok(Answer { status, body: body.to_bytes() })
    }
}

/// A task that ends with its owner.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
