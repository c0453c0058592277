//! What the switch does to packets.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::topology::{Host, Lab};
use crate::process;

/// Which packets a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From A to B.
    Forward,
    /// From B to A.
    Back,
}

/// Rules of the switch for RoCE packets; TCP and ARP pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    rules: String,
}

impl Faults {
    /// No rules: everything passes.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Adds a rule in nft's words: matches and what to do, behind the match on RoCE.
    pub(crate) fn rule(mut self, way: Way, words: &str) -> Self {
        let source = match way {
            Way::Forward => Host::A,
            Way::Back => Host::B,
        };
        let _ = writeln!(
            self.rules,
            "  ether type ip ip saddr {} udp dport 4791 {words}",
            source.address()
        ); // into memory
        self
    }

    /// Makes these the only rules, at once.
    pub(crate) fn apply(&self) -> Result<()> {
        let script = format!(
            "flush ruleset\ntable bridge faults {{\n chain roce {{\n  type filter hook forward priority 0;\n{} }}\n}}\n",
            self.rules
        );
        let mut child = Lab::on_switch("nft")
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot run nft")?;
        let mut input = child.stdin.take().context("nft has no input")?;
        input.write_all(script.as_bytes()).context("cannot give nft its rules")?;
        drop(input);
        let status = child.wait().context("cannot wait for nft")?;
        ensure!(status.success(), "nft does not take these rules:\n{script}");
        Ok(())
    }

    /// What the rules counted, for people.
    pub(crate) fn counters() -> Result<String> {
        process::output(Lab::on_switch("nft").args(["list", "ruleset"]))
    }

    /// Puts netem with these words on packets of this way.
    pub(crate) fn netem(way: Way, words: &str) -> Result<()> {
        let arguments = ["qdisc", "replace", "dev", port(way), "root", "netem"];
        process::output(Lab::on_switch("tc").args(arguments).args(words.split_whitespace()))
            .map(drop)
    }

    /// Takes netem away.
    pub(crate) fn no_netem(way: Way) -> Result<()> {
        let arguments = ["qdisc", "del", "dev", port(way), "root"];
        process::output(Lab::on_switch("tc").args(arguments)).map(drop)
    }
}

/// The port through which packets of this way leave the switch.
fn port(way: Way) -> &'static str {
    match way {
        Way::Forward => Host::B.port(),
        Way::Back => Host::A.port(),
    }
}
