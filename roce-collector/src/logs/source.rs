//! Names of sources on the command line.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A place that error lines come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// A file, or a folder with the logs of pods in it.
    Path(PathBuf),
    /// The systemd journal.
    Journal,
    /// The kernel's log.
    Kmsg,
    /// Standard input.
    Stdin,
}

impl FromStr for LogSource {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(match name {
            "journal" => Self::Journal,
            "kmsg" => Self::Kmsg,
            "-" => Self::Stdin,
            path => Self::Path(PathBuf::from(path)),
        })
    }
}

impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Journal => f.write_str("journal"),
            Self::Kmsg => f.write_str("kmsg"),
            Self::Stdin => f.write_str("-"),
        }
    }
}
