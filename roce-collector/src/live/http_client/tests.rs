//! Addresses, and servers that do not behave.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

/// What is made of a server that sends `answer` and closes.
fn get_from(answer: &'static [u8]) -> Result<Answer, GetError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(answer).unwrap();
        String::from_utf8(request[..length].to_vec()).unwrap()
    });
    let address: CollectorAddress = format!("http://{address}/").parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(address.get("/api/v1/flows?qp=69"));
    let request = server.join().unwrap();
    assert!(
        request.starts_with("GET /api/v1/flows?qp=69 HTTP/1.1\r\nhost: 127.0.0.1:"),
        "{request}"
    );
    answer
}

#[test]
fn an_answer_is_taken_whole() {
    let answer = get_from(b"HTTP/1.1 503 Busy\r\ncontent-length: 5\r\n\r\nlater").unwrap();
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::SERVICE_UNAVAILABLE, &b"later"[..]));
    let chunked =
        get_from(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n");
    assert_eq!(&chunked.unwrap().body[..], b"yes");
}

#[test]
fn bad_answers_are_errors() {
    for answer in [&b"SSH-2.0-x\r\n"[..], b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut"] {
        let error = get_from(answer).unwrap_err();
        assert!(matches!(error, GetError::Protocol(_)), "{error:?}");
    }
    let long = get_from(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n").unwrap_err();
    assert!(matches!(long, GetError::TooLong | GetError::Protocol(_)), "{long:?}");
}

#[test]
fn addresses_with_and_without_scheme() {
    for (given, shown, host, port) in [
        ("http://127.0.0.1:9977", "http://127.0.0.1:9977", "127.0.0.1", 9977),
        ("node7:80", "http://node7:80", "node7", 80),
        ("http://[::1]:9977/", "http://[::1]:9977", "::1", 9977),
        ("http://node7", "http://node7", "node7", 80),
    ] {
        let address: CollectorAddress = given.parse().unwrap();
        assert_eq!((address.host.as_str(), address.port), (host, port));
        assert_eq!(address.to_string(), shown);
    }
    for bad in ["https://a:1", "", "http://", "http://a/metrics", "http://u@a:1", "a b", "ftp://a"]
    {
        let error = bad.parse::<CollectorAddress>().unwrap_err().to_string();
        assert!(error.contains("expected http://HOST:PORT"), "{error}");
    }
}
