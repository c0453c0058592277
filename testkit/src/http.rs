//! The least HTTP client that can ask a daemon something.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Time for connecting, and for every wait after it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer that is taken.
const MAX_ANSWER: u64 = 256 << 20;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Value of `Content-Type`, empty when there is none.
    pub content_type: String,
    /// Body.
    pub body: String,
}

impl Response {
    /// The body.
    ///
    /// # Errors
    /// When the status is not 200; the message holds the body.
    pub fn ok(self) -> Result<String> {
        ensure!(self.status == 200, "HTTP status {}: {}", self.status, self.body.trim());
        Ok(self.body)
    }
}

/// Asks for `path`, which may have a query, with these `headers`.
///
/// HTTP/1.0, so that the answer is not chunked and ends with the connection.
///
/// # Errors
/// When nobody answers, or what comes is no HTTP.
pub fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Response> {
    ask(address, path, headers).with_context(|| format!("GET http://{address}{path}"))
}

fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Response> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n");
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n"); // into memory
    }
    stream.write_all((request + "\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    parse(&String::from_utf8(answer).context("the answer is not UTF-8")?)
}

fn parse(answer: &str) -> Result<Response> {
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer has no end of head")?;
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status = code
        .and_then(|code| code.parse().ok())
        .with_context(|| format!("the answer begins with {status:?}"))?;
    let content_type = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .map_or_else(String::new, |(_, value)| value.trim().to_owned());
    Ok(Response { status, content_type, body: body.to_owned() })
}

/// `text` as a value in a query (RFC 3986: all but unreserved characters are escaped).
pub fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}"); // into memory
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read() {
        let answer = "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\n\r\nno\r\n\r\nsuch";
        let response = parse(answer).unwrap();
        assert_eq!((response.status, response.content_type.as_str()), (404, "text/plain"));
        assert_eq!(response.body, "no\r\n\r\nsuch");
        assert_eq!(response.ok().unwrap_err().to_string(), "HTTP status 404: no\r\n\r\nsuch");
        assert!(parse("SSH-2.0\r\n\r\n").unwrap_err().to_string().contains("SSH-2.0"));
    }

    #[test]
    fn a_query_is_escaped() {
        assert_eq!(escape("a{b=\"1\"} > 2"), "a%7Bb%3D%221%22%7D%20%3E%202");
    }
}
