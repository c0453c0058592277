//! `roce-verbs`: a small RDMA application that can be made to fail in every way a QP can.
//!
//! Two processes exchange QP numbers and keys over TCP, as most applications do, and then one of
//! them sends to the other over a reliable connection. It prints one JSON object per event on
//! standard output, and its errors into a log in the words of known applications.

mod exchange;
mod options;
mod pair;
mod request;
mod respond;
mod tell;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use options::{Arguments, Role, Skip};
use pair::Pair;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().role {
        Role::Respond(options) => respond::run(&options).map(|()| ExitCode::SUCCESS),
        Role::Request(options) => request::run(&options),
        Role::Skip(options) => skip(&options).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn skip(options: &Skip) -> Result<()> {
    (0..options.count).try_for_each(|_| Pair::create(&options.common).map(drop))
}
