//! Command lines of the two programs, and how they end.

pub mod collector;
mod explain;
mod inventory;
mod live;
mod log_file;
mod marking;
mod read;
mod read_log;
pub mod trace;

use std::io::{self, Write};
use std::process::ExitCode;

pub use inventory::InventoryArgs;
pub use marking::MarkingArgs;

/// Usage or runtime error.
const FAILURE: u8 = 2;

/// Ends a program: an error becomes one line on standard error and exit code 2. That nobody reads the
/// output any more is success.
pub fn exit_code(program: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(program, &format!("{error:#}"));
            ExitCode::from(FAILURE)
        }
    }
}

/// One line on standard error. When that is closed too, there is nobody to tell.
fn complain(program: &str, message: &str) {
    let _ = writeln!(io::stderr(), "{program}: {message}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Reads a queue pair number, decimal or 0x hexadecimal.
pub(crate) fn qp_number(text: &str) -> Result<u32, String> {
    const MAX: u32 = 0x00ff_ffff;
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = number.ok().filter(|number| *number <= MAX);
    number.ok_or_else(|| {
        format!("expected a queue pair number from 0 to {MAX}, or from 0x0 to {MAX:#x}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_pairs_in_both_notations() {
        assert_eq!(qp_number("69"), Ok(69));
        assert_eq!(qp_number("0x45"), Ok(69));
        for bad in ["", "0x", "45h", "-1", "16777216", "0x1000000"] {
            assert!(qp_number(bad).is_err(), "{bad:?}");
        }
    }
}
