//! How fast `roce-trace read` is, and how much memory it takes, beside tshark on the same file.
//!
//! ```text
//! cargo bench -p roce-collector --bench read -- --mib 1024 [--keep FOLDER]
//! ```
//!
//! Two captures are generated in a temporary folder: frames cut to 128 bytes, as mirrors are usually
//! captured, and whole frames of a 1024-byte path MTU, whose ICRCs are checked. Each holds 64 connections,
//! and one of 50 messages loses a packet. Every program reads each file twice and the faster run counts, so
//! that the file is in the page cache. It is a figure to look at, never a test.

mod generate;
mod measure;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use measure::{Run, measure};

/// Bytes kept of each frame.
const SNAPLENS: [u32; 2] = [128, 262_144];
const ROUNDS: usize = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let arguments: Vec<_> = std::env::args().collect();
    let after = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1)
    };
    let mib = after("--mib").map_or(Ok(1024), |mib| mib.parse()).map_err(io::Error::other)?;
    let has_tshark = Command::new("tshark").arg("--version").output().is_ok();
    if !has_tshark {
        eprintln!("tshark is not installed: its rows are missing (apt-get install tshark)");
    }
    let keep = after("--keep").map(Path::new);
    let folder = tempfile::tempdir()?;
    println!("| program | file | packets | CPU s | packets/s of CPU | ratio | wall s | peak MiB |");
    println!("|---|---|---|---|---|---|---|---|");
    for snaplen in SNAPLENS {
        let file = folder.path().join("capture.pcap");
        let packets = generate::write(&file, mib << 20, snaplen)?;
        let size = fs::metadata(&file)?.len() >> 20;
        let kind = if snaplen == SNAPLENS[0] { "cut to 128 bytes" } else { "whole frames" };
        let kind = format!("{size} MiB, {kind}");
        let ours = best(|| measure(roce_trace(&file)))?;
        print(&Row { program: "roce-trace read", kind: &kind, packets, run: &ours, than: &ours });
        if has_tshark {
            let theirs = best(|| measure(tshark(&file)))?;
            print(&Row { program: "tshark", kind: &kind, packets, run: &theirs, than: &ours });
        }
        if let Some(keep) = keep {
            fs::copy(&file, keep.join(format!("read-{snaplen}.pcap")))?;
        }
        fs::remove_file(&file)?;
    }
    Ok(())
}

fn roce_trace(file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce-trace"));
    command.arg("read").arg(file).args(["--format", "json"]);
    command
}

/// Dissects every packet and prints the two fields without which nothing can be said about loss.
fn tshark(file: &Path) -> Command {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file).args(["-T", "fields"]);
    command.args(["-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn"]);
    command
}

fn best(run: impl Fn() -> io::Result<Run>) -> io::Result<Run> {
    let mut best = run()?;
    for _ in 1..ROUNDS {
        let next = run()?;
        best = if next.cpu < best.cpu { next } else { best };
    }
    Ok(best)
}

struct Row<'a> {
    program: &'a str,
    kind: &'a str,
    packets: u64,
    run: &'a Run,
    than: &'a Run,
}

fn print(row: &Row<'_>) {
    let Row { program, kind, packets, run, than } = *row;
    let rate = packets as f64 / run.cpu.as_secs_f64();
    println!(
        "| {program} | {kind} | {packets} | {:.2} | {:.0} | {:.2} | {:.2} | {} |",
        run.cpu.as_secs_f64(),
        rate,
        than.cpu.as_secs_f64() / run.cpu.as_secs_f64(),
        run.wall.as_secs_f64(),
        run.peak_kib >> 10,
    );
}
