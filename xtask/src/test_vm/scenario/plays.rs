//! The ways to fail. Each leaves the connection in its last state.
//!
//! Retry ladders are slow on purpose (local ACK timeout 17 is 0.54 s): a guest under emulation on a
//! busy machine must not be slower than they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use roce_testkit::packet::{Opcode, Packet};
use roce_testkit::send::Sender;

use super::stage::{Played, Stage};
use crate::lab::{Failure, Faults, Host, Way};

/// A ladder of seven tries at 0.54 s, and time for a busy machine.
const LADDER: Duration = Duration::from_secs(30);

/// A match on bytes of the BTH: opcode ACKNOWLEDGE of RC.
const IS_ACK: &str = "@th,64,8 0x11";

/// A match on so many of a hundred packets.
fn share(percent: u32) -> String {
    // nft refuses a comparison that holds always.
    if percent < 100 { format!("numgen random mod 100 < {percent}") } else { String::new() }
}

/// (a) Requests do not reach the responder any more.
pub(super) fn forward_hole(stage: &mut Stage<'_>) -> Result<Played> {
    let mut played = stage.connect("", "")?;
    Stage::wait(BASELINE);
    stage.faults(&Faults::none().rule(Way::Forward, "counter drop"), "requests are dropped")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (a2) Requests arrive, their ACKs do not come back.
pub(super) fn acks_lost(stage: &mut Stage<'_>) -> Result<Played> {
    let mut played = stage.connect("", "")?;
    Stage::wait(BASELINE);
    let faults = Faults::none().rule(Way::Back, &format!("{IS_ACK} counter drop"));
    stage.faults(&faults, "ACKs are dropped")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (b) The process at the other end is killed, its host and another connection live on.
pub(super) fn peer_killed(stage: &mut Stage<'_>) -> Result<Played> {
    stage.neighbour("--rate 50")?;
    let mut played = stage.connect("", "")?;
    Stage::wait(BASELINE);
    stage.kill_responder()?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (c) The receiver runs out of receives.
pub(super) fn no_receives(stage: &mut Stage<'_>) -> Result<Played> {
    let mut played =
        stage.connect("--receives 400", "--operation send --size 2048 --rnr-retry 3")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (d) A request with a key that no memory region has.
pub(super) fn bad_rkey(stage: &mut Stage<'_>) -> Result<Played> {
    let mut played = stage.connect("", "--bad-rkey-after 400")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (e) Packets of full size are dropped from the start; small messages pass, on a neighbour, too.
pub(super) fn large_lost(stage: &mut Stage<'_>) -> Result<Played> {
    stage.faults(
        &Faults::none().rule(Way::Forward, "ip length > 600 counter drop"),
        "large packets are dropped",
    )?;
    stage.neighbour("--rate 50 --size 256")?;
    let mut played =
        stage.connect("", "--size 256 --later-after 300 --later-size 4096 --timeout 16")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (f) The fabric drops only what is not in the lossless class: DSCP 0 instead of 26.
pub(super) fn wrong_dscp_lost(stage: &mut Stage<'_>) -> Result<Played> {
    stage.neighbour("--rate 100")?;
    let mut played = stage.connect("", "--traffic-class 2 --timeout 16")?;
    let drop = |percent: u32| {
        Faults::none().rule(Way::Forward, &format!("ip dscp 0 {} counter drop", share(percent)))
    };
    stage.faults(&drop(10), "one in ten packets of DSCP 0 is dropped")?;
    Stage::wait(Duration::from_secs(2));
    stage.faults(&drop(100), "all packets of DSCP 0 are dropped")?;
    played.failure = stage.failure(LADDER)?;
    Ok(played)
}

/// (g) Packets are marked CE, the receiver sends CNPs, then the queue overflows.
///
/// soft-RoCE neither sends nor heeds CNPs: those here are made by hand.
pub(super) fn congestion(stage: &mut Stage<'_>) -> Result<Played> {
    let mut played = stage.connect("", "--timeout 16")?;
    let cnp = cnp(played.qp as u32);
    let mark = format!("ip ecn != not-ect {} counter ip ecn set ce", share(60));
    let congested = |percent: u32| {
        let faults = Faults::none();
        let drop = format!("{} counter drop", share(percent));
        let faults = if percent == 0 { faults } else { faults.rule(Way::Forward, &drop) };
        faults.rule(Way::Forward, &mark)
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let notifier = scope.spawn(|| notify(&cnp, &is_over));
        let failure = congest(stage, congested);
        is_over.store(true, Ordering::Relaxed);
        let sent = notifier.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        stage.note(&format!("{sent} CNPs were sent"))?;
        played.failure = failure?;
        Ok(played)
    })
}

/// Marks first, then also drops, and more and more.
fn congest(stage: &mut Stage<'_>, congested: impl Fn(u32) -> Faults) -> Result<Option<Failure>> {
    stage.faults(&congested(0), "packets are marked CE")?;
    Stage::wait(Duration::from_secs(1));
    stage.faults(&congested(5), "and one in twenty is dropped")?;
    Stage::wait(Duration::from_secs(2));
    stage.faults(&congested(97), "and nearly all are dropped")?;
    if let Some(failure) = stage.failure(Duration::from_secs(15))? {
        return Ok(Some(failure));
    }
    // Seven losses in a row may take their time.
    stage.faults(&congested(100), "and all are dropped")?;
    stage.failure(LADDER)
}

/// Sends a CNP from B every 10 ms, and returns how many.
fn notify(cnp: &[u8], is_over: &AtomicBool) -> Result<u64> {
    let mut sender = Sender::open_through_tc(Host::B.interface())?;
    let mut sent = 0;
    while !is_over.load(Ordering::Relaxed) {
        sent += sender.send_each([cnp]).context("cannot send a CNP")?.frames;
        thread::sleep(Duration::from_millis(10));
    }
    Ok(sent)
}

fn cnp(qp: u32) -> Vec<u8> {
    Packet::new(Opcode::CNP)
        .macs(Host::B.mac(), Host::A.mac())
        .ip(Host::B.address().into(), Host::A.address().into())
        .dscp(48)
        .dest_qp(qp)
        .build()
}

/// (h) Packets overtake each other, none is lost.
pub(super) fn reordering(stage: &mut Stage<'_>) -> Result<Played> {
    stage.netem(Way::Forward, "limit 10000 delay 2ms reorder 98% 0%")?;
    let played = stage.connect("", "--seconds 4");
    let end = played.and_then(|played| stage.end_of_messages().map(|()| played));
    Faults::no_netem(Way::Forward)?;
    end
}

/// (i) soft-RoCE takes a retry count of 7 as "for ever".
pub(super) fn retries_for_ever(stage: &mut Stage<'_>) -> Result<Played> {
    let played = stage.connect("", "--retry-count 7 --timeout 15")?;
    Stage::wait(BASELINE);
    stage.faults(&Faults::none().rule(Way::Forward, "counter drop"), "requests are dropped")?;
    Stage::wait(Duration::from_secs(5));
    Ok(played)
}

/// (j) perftest, and nothing is wrong.
pub(super) fn perftest(stage: &mut Stage<'_>) -> Result<Played> {
    let played = stage.perftest("--tclass=106 -s 4096 -n 3000 -t 16 -u 18")?;
    stage.end_of_perftest()?;
    Ok(played)
}

/// (k) perftest asks for seven retries, which soft-RoCE takes as "for ever": it stands still and says
/// nothing.
pub(super) fn perftest_hole(stage: &mut Stage<'_>) -> Result<Played> {
    let played = stage.perftest("--tclass=106 -s 4096 -n 1000000 -t 16 -u 15")?;
    Stage::wait(BASELINE);
    stage.faults(&Faults::none().rule(Way::Forward, "counter drop"), "requests are dropped")?;
    Stage::wait(Duration::from_secs(5));
    Ok(played)
}

/// Time for the collector to see that all is well.
const BASELINE: Duration = Duration::from_millis(1500);
