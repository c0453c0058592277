//! The live view of flows: `roce-trace live`.
//!
//! ```text
//! Source (a running collector over HTTP, or programs of its own) --Sample, every interval-->
//! Model --View: rates from the difference of two samples, order--> screen, plain lines or JSON lines
//! ```
//!
//! From [`Model`] on everything is pure; only the sources, [`watch_screen`] and [`watch_lines`] wait and
//! write.

mod absence;
mod address;
mod collector;
mod columns;
mod error;
mod figures;
mod grade;
mod heading;
mod http_client;
mod json;
mod keys;
mod lately;
mod lines;
mod model;
mod own;
mod piece;
mod plain;
mod rates;
mod sample;
mod screen;
mod source;
mod stop;
mod terminal;
#[cfg(test)]
mod testing;
mod view;

pub use error::LiveError;
pub use http_client::CollectorAddress;
pub use lines::{LineFormat, watch_lines};
pub use model::Model;
pub use own::OwnOptions;
pub use rates::Rates;
pub use sample::Sample;
pub use source::{Source, SourceOptions};
pub use stop::Stop;
pub use terminal::watch_screen;
pub use view::{FlowView, Question, TapView, View};

use std::time::Duration;

/// How long to watch, and how often to look.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time between two samples.
    pub interval: Duration,
    /// Ends after so many samples.
    pub count: Option<u64>,
    /// Ends after so long.
    pub duration: Option<Duration>,
}
