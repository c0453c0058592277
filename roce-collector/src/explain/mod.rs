//! Error lines of RDMA programs and drivers, decoded.
//!
//! ```text
//! bytes --Scanner--> lines that may matter --Decoder--> producers::* --Pending--> ErrorRecord --> JSON, text
//! ```
//!
//! Pure: no clock, no file. Memory is bounded whatever the log holds. The forms of lines and the meaning of
//! codes come from the producers' sources and from public reports; `docs/error-lines.md` lists them.
//!
//! Three rules hold for every producer. The status decides, and the vendor code only refines it. A number
//! is decimal or hexadecimal by who printed it. Opcode and length of a failed completion are garbage: the
//! verbs API defines only status, vendor code, work request and QP number then.

mod cqe;
mod decoder;
mod envelope;
mod event;
mod finding;
mod meaning;
mod needles;
mod pending;
mod producers;
mod record;
mod report;
mod scanner;
mod show;
mod splitter;
mod status;
mod text;
mod time;
mod vendor;

pub use cqe::{ErrorCqe, Role};
pub use decoder::{Decoder, DecoderLimits};
pub use event::Event;
pub use finding::Finding;
pub use meaning::Cause;
pub(crate) use needles::{OWN_MARK, is_candidate};
pub use record::{ErrorRecord, Local, Peer, Producer, Severity};
pub use scanner::Scanner;
pub use show::write_record;
pub use splitter::ScanTotals;
pub(crate) use splitter::{Splitter, TakeLine};
pub use status::WcStatus;
pub use vendor::{Evidence, VendorCode};
