//! Command lines of the two programs, and how they end.

mod marking;
mod read;
pub mod trace;

use std::io::{self, Write};
use std::process::ExitCode;

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
