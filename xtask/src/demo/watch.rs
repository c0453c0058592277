//! The demo that goes on: traffic in a loop, and `roce-trace live` that follows it.

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use roce_testkit::scenario::{Scenario, demo_from};

use super::{Lab, interrupt};

/// About 2,100 frames a round.
const SCALE: u32 = 3;
/// PSNs from the start of a round to that of the next: so many that it is a new sequence, and no gap.
const PSNS_OF_ROUND: u32 = 1 << 17;
/// Frames a second.
const RATE: u32 = 1_000;
/// Time to read the introduction before the screen is taken.
const READING: Duration = Duration::from_secs(5);
/// Time that the live view has to end: in a terminal, Ctrl-C reaches it too.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(lab: &Lab<'_>, live: &Path, duration: Option<Duration>) -> Result<()> {
    let stop = AtomicBool::new(false);
    let go_on = || !stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let player = scope.spawn(|| -> Result<()> {
            for round in 0.. {
                if !go_on() || interrupt::is_interrupted() {
                    break;
                }
                let first_psn = u32::wrapping_mul(round, PSNS_OF_ROUND) & 0x00ff_ffff;
                let traffic = Scenario::together("demo", demo_from(SCALE, first_psn));
                lab.stage.play(&traffic.frames, RATE, go_on)?;
            }
            Ok(())
        });
        let shown = show(lab, live, duration, || player.is_finished());
        stop.store(true, Ordering::Relaxed);
        let traffic = player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        traffic.and(shown)
    })
}

/// Shows the flows until the user or the time ends it, or the traffic has ended.
fn show(
    lab: &Lab<'_>,
    live: &Path,
    duration: Option<Duration>,
    is_over: impl Fn() -> bool,
) -> Result<()> {
    println!("traffic plays in a loop; q or Ctrl-C ends the demo");
    if stdout().is_terminal() {
        println!("roce-trace live starts in {} seconds", READING.as_secs());
        interrupt::sleep(READING);
    }
    if interrupt::is_interrupted() {
        return Ok(());
    }
    let mut command = Command::new(live);
    command.args(["live", "--collector", &format!("http://{}", lab.address)]);
    if let Some(duration) = duration {
        command.arg("--duration").arg(format!("{}s", duration.as_secs()));
    }
    let mut child = command.stdin(Stdio::inherit()).spawn().context("cannot run roce-trace")?;
    while !interrupt::is_interrupted() && !is_over() {
        if let Some(status) = child.try_wait().context("waiting for roce-trace")? {
            ensure!(status.success(), "roce-trace live ended with {status}");
            return Ok(());
        }
        thread::sleep(POLL);
    }
    end(&mut child)
}

/// Ends the live view in a way that gives the terminal back.
fn end(child: &mut Child) -> Result<()> {
    let start = Instant::now();
    let mut is_told = false;
    while child.try_wait().context("waiting for roce-trace")?.is_none() {
        if start.elapsed() > 2 * PATIENCE {
            child.kill().context("killing roce-trace")?;
        } else if start.elapsed() > PATIENCE && !is_told {
            // SAFETY: kill takes plain integers. The child has not been waited for, so the id is its.
            unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
            is_told = true;
        }
        thread::sleep(POLL);
    }
    Ok(())
}
