//! The eBPF objects: their sources, their toolchain, and the stamps that tie the committed ones to them.
//!
//! Shared by `cargo xtask build-ebpf`, which writes the objects, and by the build script of
//! `roce-collector`, which embeds them.

mod compile;
mod inputs;
mod linker;
mod lockfile;
mod program;
mod repository;
mod stamp;
mod strip;
mod toolchain;

use std::fmt::Write;

use sha2::{Digest, Sha256};

pub use compile::{Built, TARGET, build, build_bench, clippy};
pub use inputs::Inputs;
pub use linker::{LINKER_VERSION, Linker};
pub use program::Object;
pub use repository::Repository;
pub use stamp::{Stamp, StampError, check};
pub use strip::{FunctionSize, functions, strip};
pub use toolchain::{Candidate, LLVM_MAJOR, Toolchain, candidates};

/// Hexadecimal SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
