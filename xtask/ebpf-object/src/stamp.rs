//! The stamp beside the committed object: what it was built from, by what.

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::inputs::Inputs;
use crate::repository::Repository;
use crate::sha256;

const HEADER: &str = "# Written by `cargo xtask build-ebpf`. Do not edit.\n";

/// What one object was built from, and by which tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// [`Inputs::hash`] at the time of the build.
    pub sources: String,
    /// SHA-256 of the object.
    pub object: String,
    /// Compiler, as it names itself.
    pub rustc: String,
    /// Version of bpf-linker.
    pub bpf_linker: String,
}

impl Stamp {
    /// Reads the text of a stamp; `None` when a line is missing or unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(str::to_owned)
        };
        Some(Self {
            sources: field("sources")?,
            object: field("object")?,
            rustc: field("rustc")?,
            bpf_linker: field("bpf-linker")?,
        })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sources, object, rustc, bpf_linker } = self;
        write!(
            f,
            "{HEADER}sources: {sources}\nobject: {object}\nrustc: {rustc}\nbpf-linker: {bpf_linker}\n"
        )
    }
}

/// Why the committed object cannot be used. Each message ends with the command that helps.
#[derive(Debug)]
#[non_exhaustive]
pub enum StampError {
    /// The object or its stamp is not there or not readable.
    Unreadable(PathBuf, io::Error),
    /// The stamp does not have the expected lines.
    Malformed(PathBuf),
    /// The sources are not those that the object was built from.
    Stale {
        /// File name of the object.
        file: &'static str,
        /// Hash in the stamp.
        stamped: String,
        /// Hash of the sources in this checkout.
        sources: String,
    },
    /// The object is not the one that the stamp describes.
    Altered {
        /// File name of the object.
        file: &'static str,
        /// Hash in the stamp.
        stamped: String,
        /// Hash of the object.
        object: String,
    },
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display())?,
            Self::Malformed(path) => write!(f, "{} is not a stamp", path.display())?,
            Self::Stale { file, stamped, sources } => write!(
                f,
                "the committed eBPF object {file} is stale: built from sources {stamped:.12}, \
                 this checkout has {sources:.12}"
            )?,
            Self::Altered { file, stamped, object } => write!(
                f,
                "the committed eBPF object {file} is not the one its stamp describes: \
                 {object:.12} instead of {stamped:.12}"
            )?,
        }
        f.write_str("; run `cargo xtask build-ebpf`")
    }
}

impl Error for StampError {}

/// Checks that the committed object was built from the sources in this checkout.
///
/// # Errors
/// When it is missing, stale, or not the object that its stamp describes.
pub fn check(repository: &Repository, inputs: &Inputs) -> Result<Stamp, StampError> {
    let stamp_path = repository.prebuilt_stamp(inputs.object());
    let object_path = repository.prebuilt_object(inputs.object());
    let text = fs::read_to_string(&stamp_path)
        .map_err(|error| StampError::Unreadable(stamp_path.clone(), error))?;
    let object =
        fs::read(&object_path).map_err(|error| StampError::Unreadable(object_path, error))?;
    let stamp = Stamp::parse(&text).ok_or(StampError::Malformed(stamp_path))?;
    let file = inputs.object().file_name();
    if stamp.sources != inputs.hash() {
        let sources = inputs.hash().to_owned();
        return Err(StampError::Stale { file, stamped: stamp.sources, sources });
    }
    let found = sha256(&object);
    if stamp.object != found {
        return Err(StampError::Altered { file, stamped: stamp.object, object: found });
    }
    Ok(stamp)
}
