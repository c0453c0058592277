//! Rules on single lines, also for code that clippy does not see on this machine.

use anyhow::{Result, bail};
use roce_ebpf_object::Repository;

use super::files;

/// How far above an `unsafe` its SAFETY note may begin.
const SAFETY_REACH: usize = 8;

pub(super) fn check(repository: &Repository) -> Result<()> {
    let mut found = Vec::new();
    for (path, text) in files::rust_sources(repository)? {
        found.extend(
            faults(&text)
                .into_iter()
                .map(|(line, fault)| format!("{}:{line}: {fault}", path.display())),
        );
    }
    if !found.is_empty() {
        bail!("\n  {}", found.join("\n  "));
    }
    Ok(())
}

/// Line numbers and what is wrong there.
fn faults(text: &str) -> Vec<(usize, &'static str)> {
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let fault = if line.starts_with("//") {
            None
        } else if line.starts_with("#[allow(") || line.starts_with("#![allow(") {
            Some("use #[expect(lint, reason = \"...\")]")
        } else if line.starts_with("#[ignore") {
            Some("a test must not be ignored")
        } else if is_unsafe(line) && !explained(&lines[index.saturating_sub(SAFETY_REACH)..=index])
        {
            Some("unsafe without a SAFETY note")
        } else {
            None
        };
        found.extend(fault.map(|fault| (index + 1, fault)));
    }
    found
}

fn is_unsafe(line: &str) -> bool {
    ["unsafe {", "unsafe impl ", "unsafe fn "].iter().any(|form| {
        line.find(form).is_some_and(|at| {
            let before = &line[..at];
            !before.contains('"') && !before.ends_with(|it: char| it.is_alphanumeric() || it == '_')
        })
    })
}

fn explained(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn unsafe_needs_a_note() {
        assert_eq!(
            faults("fn f() {\n    unsafe { g() }\n}"),
            [(2, "unsafe without a SAFETY note")]
        );
        assert_eq!(faults("    // SAFETY: g reads nothing.\n    unsafe { g() }"), []);
        assert_eq!(faults("let text = \"unsafe { }\";"), []);
    }

    #[test]
    fn silenced_lints_and_tests_are_found() {
        assert_eq!(faults("#[allow(dead_code)]").len(), 1);
        assert_eq!(faults("    #[ignore = \"slow\"]").len(), 1);
        assert_eq!(faults("#[expect(dead_code, reason = \"used on one target only\")]"), []);
    }
}
