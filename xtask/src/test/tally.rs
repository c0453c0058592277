//! Counts of passed and failed tests.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Tally {
    pub(super) fn one_passed() -> Self {
        Self { passed: 1, failed: 0 }
    }

    pub(super) fn one_failed() -> Self {
        Self { passed: 0, failed: 1 }
    }

    /// Reads the closing line of one test program; `None` for any other line.
    pub(super) fn read(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("test result: ")?;
        let (_, counts) = rest.split_once(". ")?;
        let count = |what: &str| {
            let part = counts.split(';').find_map(|part| part.trim().strip_suffix(what))?;
            part.trim().parse().ok()
        };
        Some(Self { passed: count("passed")?, failed: count("failed")? })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_closing_line_of_a_test_program_is_read() {
        let line = "test result: FAILED. 31 passed; 2 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.03s";
        assert_eq!(Tally::read(line), Some(Tally { passed: 31, failed: 2 }));
        assert_eq!(Tally::read("test parser ... ok"), None);
    }
}
