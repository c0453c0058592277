//! Signals that end the program.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGINT, SIGTERM or SIGHUP, which from then on do not kill the process.
#[derive(Debug)]
pub struct Stop([Signal; 3]);

impl Stop {
    /// Takes the signals over.
    ///
    /// # Errors
    /// When the system refuses.
    ///
    /// # Panics
    /// Outside of a tokio runtime with its I/O driver on.
    pub fn new() -> io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    /// Waits until one comes.
    pub async fn requested(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
