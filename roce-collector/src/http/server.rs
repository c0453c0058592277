//! Connections: how many, how long, and how they end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::ServerState;
use super::routes::router;

/// Connections at a time; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 64;
/// Bytes of a request's head. A body is never read.
const MAX_HEAD: usize = 16 * 1024;
/// Time for a request's head, and for a connection that asks nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Age from which on a connection ends after the answer it is at.
const MAX_AGE: Duration = Duration::from_mins(10);
/// Time for that last answer, and for those that are under way when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, for example because files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` ends, then finishes the answers that are under way, for at most five seconds.
///
/// # Errors
/// When the listener is unusable. That a single connection fails is no error.
pub async fn serve(
    listener: TcpListener,
    state: ServerState,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = router(state);
    let (stopping, stopped) = watch::channel(false);
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        // Ends of connections are collected here, so that the set does not grow.
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        let (stream, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (router, stopped) = (router.clone(), stopped.clone());
        connections.spawn(async move {
            connection(stream, router, stopped).await;
            drop(slot);
        });
    }
    drop(listener);
    let _ = stopping.send(true);
    // Whoever does not read the answer has had the time to.
    let _ = timeout(GRACE, connections.join_all()).await;
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn connection(stream: TcpStream, router: Router, mut stopped: watch::Receiver<bool>) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // How a client ends its connection is its own affair.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => {}
        () = sleep(MAX_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, connection).await;
}
