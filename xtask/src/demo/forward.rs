//! Makes a server inside a namespace reachable from the host.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use roce_testkit::netns::Namespace;

/// Connections at a time; further ones are closed.
const MAX_CONNECTIONS: usize = 16;
/// How long a connection may be silent.
const MAX_SILENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(20);

/// Forwards connections until it is dropped.
pub(super) struct Forward {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Forward {
    /// Listens at `listen` of this host, and connects to `target` of `namespace`.
    pub(super) fn start(
        namespace: &Namespace,
        listen: SocketAddr,
        target: SocketAddr,
    ) -> Result<Self> {
        // A socket stays in the namespace that it was made in.
        let listener = TcpListener::bind(listen)
            .with_context(|| format!("cannot listen at {listen}: choose another with --listen"))?;
        listener.set_nonblocking(true).context("listening")?;
        let address = listener.local_addr().context("listening")?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = namespace.spawn(move || accept(&listener, target, &stopped));
        Ok(Self { address, stop, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => eprintln!("forwarding failed: {error:#}"),
            Some(Err(_)) => eprintln!("forwarding panicked"),
        }
    }
}

/// Runs inside the namespace, as do the threads that it starts.
fn accept(listener: &TcpListener, target: SocketAddr, stop: &AtomicBool) {
    let connections = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Relaxed) {
        // Nobody there, or a connection that is gone already.
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(POLL);
            continue;
        };
        if connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let connections = Arc::clone(&connections);
        thread::spawn(move || {
            // How a connection ends is the affair of its two ends.
            let _ = forward(&client, target);
            connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn forward(client: &TcpStream, target: SocketAddr) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let server = TcpStream::connect(target)?;
    for stream in [client, &server] {
        stream.set_read_timeout(Some(MAX_SILENCE))?;
        stream.set_write_timeout(Some(MAX_SILENCE))?;
    }
    thread::scope(|scope| {
        let request = scope.spawn(|| copy(client, &server));
        let answer = copy(&server, client);
        // Nothing is left to ask once the server has ended the connection.
        let _ = client.shutdown(Shutdown::Read);
        answer.and(request.join().unwrap_or(Ok(())))
    })
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let outcome = io::copy(&mut from, &mut to).map(|_| ());
    let _ = to.shutdown(Shutdown::Write);
    outcome
}
