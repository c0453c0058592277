//! Standard input.

use std::io::{self, ErrorKind, Read};
use std::thread;

use tokio::sync::oneshot;

use super::sink::{Sink, now};
use super::{LogCounter, Shared};

/// Reads to the end.
pub(super) async fn follow(shared: Shared) {
    let (done, ended) = oneshot::channel();
    // A thread of its own, not of the runtime: nothing can interrupt a read of a terminal, and the runtime
    // would wait for it at its end.
    let started = thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        read(io::stdin(), Sink::new("-", shared));
        let _ = done.send(());
    });
    match started {
        Ok(_) => {
            let _ = ended.await;
        }
        Err(error) => tracing::warn!("standard input is not read: {error}"),
    }
}

fn read(mut input: impl Read, mut sink: Sink) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => sink.feed(&buffer[..len], now()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                sink.counters().count(LogCounter::ReadErrors);
                tracing::warn!("standard input: {error}");
                break;
            }
        }
    }
    sink.finish();
}

#[cfg(test)]
mod tests {
    use super::super::testing::shared;
    use super::*;

    #[test]
    fn the_last_line_needs_no_end() {
        let (shared, mut lines) = shared(10);
        let log = b"nothing\nremote access error\n\nlocal protection error";
        read(&log[..], Sink::new("-", shared));
        let first = lines.try_recv().unwrap();
        assert_eq!(
            (&*first.source, first.number, &*first.line),
            ("-", 2, &b"remote access error"[..])
        );
        assert_eq!(lines.try_recv().unwrap().number, 4);
        assert!(lines.try_recv().is_err());
    }
}
