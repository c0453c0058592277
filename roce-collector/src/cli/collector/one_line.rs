//! Errors of the command line in one line.

use super::PROGRAM;

/// What is wrong and what to do, without the usage text.
pub(super) fn of(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let words: Vec<_> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see {PROGRAM} --help")
}
