//! Facts of the interfaces, read in the background.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::attach::{LinkSource, Links};

/// How often interfaces are looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// The facts that were read last and that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest(Arc<Mutex<Option<Links>>>);

impl Latest {
    fn put(&self, links: Links) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(links);
    }

    /// Takes them.
    pub(super) fn take(&self) -> Option<Links> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Reads them for ever.
pub(super) async fn watch(source: LinkSource, interfaces: Vec<String>, latest: Latest) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_failed = false;
    loop {
        ticks.tick().await;
        match source.read(&interfaces).await {
            Ok(links) => {
                latest.put(links);
                has_failed = false;
            }
            Err(error) if !has_failed => {
                tracing::warn!("interfaces that come and go are not noticed: {error}");
                has_failed = true;
            }
            Err(_) => {}
        }
    }
}
