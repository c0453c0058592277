//! Length of source files, tests not counted.

use std::path::Path;

use anyhow::{Result, bail};
use roce_ebpf_object::Repository;

use super::files;

const LIMIT: usize = 600;
const LONG: usize = 400;

pub(super) fn check(repository: &Repository) -> Result<()> {
    let mut lengths: Vec<_> = files::rust_sources(repository)?
        .into_iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (code_lines(&text), path))
        .collect();
    lengths.sort();
    let median = lengths.get(lengths.len() / 2).map_or(0, |(lines, _)| *lines);
    println!("        {} source files, median {median} lines", lengths.len());
    for (lines, path) in lengths.iter().filter(|(lines, _)| (LONG..=LIMIT).contains(lines)) {
        println!("        long: {} ({lines} lines)", path.display());
    }
    let over: Vec<_> = lengths.iter().filter(|(lines, _)| *lines > LIMIT).collect();
    if !over.is_empty() {
        bail!("more than {LIMIT} lines: {over:?}");
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

/// Lines before the test module, which is the last thing in a file.
fn code_lines(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[cfg(test)]
mod tests {
    use super::code_lines;

    #[test]
    fn the_test_module_does_not_count() {
        assert_eq!(code_lines("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(code_lines("a\n    #[cfg(test)]\nb\n"), 3);
    }
}
