//! The flight recorder: the last packet headers of a connection in trouble, as a capture file for each
//! incident.
//!
//! ```text
//! kernel: recorders of connections in trouble --Tables::recorded--> Recording: frames in order
//! Recording + what the incident says --FlightRecorder--> DIR/roce-incident-ID.pcapng, bounded
//! ```

mod connection;
mod file;
mod flight;
mod folder;
mod frame;
pub(crate) mod metrics;

pub use connection::Connection;
pub use file::write_pcapng;
pub use flight::{FlightRecorder, RecorderCounts};
pub use frame::{RecordedFrame, Recording};
