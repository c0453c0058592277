//! The demo that goes on: traffic in a loop, and a table that follows it.

use std::io::{IsTerminal, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use roce_testkit::scenario::{Scenario, demo};

use super::{Lab, flows, interrupt};

/// About 2,100 frames a round.
const SCALE: u32 = 3;
/// Frames a second.
const RATE: u32 = 1_000;
const REFRESH: Duration = Duration::from_secs(1);
/// Moves the cursor home and clears what follows.
const CLEAR: &str = "\x1b[H\x1b[J";

pub(super) fn run(lab: &Lab<'_>, duration: Option<Duration>) -> Result<()> {
    let traffic = Scenario::together("demo", demo(SCALE));
    let stop = AtomicBool::new(false);
    let go_on = || !stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let player = scope.spawn(|| -> Result<()> {
            while go_on() && !interrupt::is_interrupted() {
                lab.stage.play(&traffic.frames, RATE, go_on)?;
            }
            Ok(())
        });
        let shown = show(lab, duration, || player.is_finished());
        stop.store(true, Ordering::Relaxed);
        let traffic = player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        traffic.and(shown)
    })
}

/// Shows the table until it is time to end, or the traffic has ended.
fn show(lab: &Lab<'_>, duration: Option<Duration>, is_over: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    let is_time = || duration.is_some_and(|duration| start.elapsed() >= duration);
    while !interrupt::is_interrupted() && !is_over() && !is_time() {
        let flows = flows::fetch(lab.address)?;
        if stdout().is_terminal() {
            print!("{CLEAR}");
            lab.introduce();
        }
        flows::print(&flows);
        println!("\n{} packets; Ctrl-C ends the demo", flows::packets(&flows));
        interrupt::sleep(REFRESH);
    }
    println!("\nstopping");
    Ok(())
}
