//! What a rule says, and what all of them say together.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Verdict;

/// A fact that speaks for a verdict, in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was measured.
    pub what: Cow<'static, str>,
    /// The figure, with its unit.
    pub value: String,
}

impl Evidence {
    /// A fact.
    pub fn new(what: impl Into<Cow<'static, str>>, value: impl fmt::Display) -> Self {
        Self { what: what.into(), value: format!("{value}") }
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// One or two sentences for people.
    pub text: String,
    /// What it goes by.
    pub evidence: Vec<Evidence>,
    /// What to do next, with the exact command where there is one.
    pub next_steps: Vec<String>,
}

/// What one rule says of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Opinion {
    /// It is this.
    Fits(Finding),
    /// It is not this: what is known speaks against it.
    RuledOut,
    /// It may be; something is missing that would tell.
    CannotTell(&'static str),
}

/// The answer: one verdict, and what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// What it is.
    pub verdict: Verdict,
    /// How sure that is, why, and what to do.
    pub finding: Finding,
    /// What it is not.
    pub ruled_out: Vec<Verdict>,
}
