//! Where between requester and responder it breaks, when no answer comes.
//!
//! Three verdicts share this, so that they cannot contradict each other. What is known best comes first:
//! taps on both sides, the peer's own good-bye, one tap, counters of hosts, and last other connections.

use super::confidence::{CERTAIN, DIRECT, LIKELY, OPEN, STRONG};
use super::{
    Answers, Case, Evidence, Finding, Ladder, Opinion, PeerQp, Place, Requests, TapSight, Verdict,
    missing, reading,
};

/// Where it breaks, and why one thinks so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Break {
    pub place: Verdict,
    pub why: Why,
    pub confidence: f64,
}

/// Reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The peer ended the connection.
    SaidGoodBye,
    /// Tries pass one tap, and not the next.
    LostBetweenTaps,
    /// Tries arrive, answers leave, and do not come by at the requester's side.
    AnswersLostBetweenTaps,
    /// Tries arrive at the responder's host, which does not answer.
    ArrivesUnanswered,
    /// Answers come by, and the requester goes on asking.
    AnswersPassed,
    /// Answers reach the requester's host, and it goes on asking.
    AnswersNotTaken,
    /// The requester ran out of retries, and no retry reached the responder.
    NoRetryArrived,
    /// The responder's kernel lists the queue pair as failed, or not at all.
    PeerQpLost,
    /// The responder's process is dead.
    ProcessDead,
    /// The responder counts requests that it had carried out already.
    CountedDuplicates,
    /// Other queue pairs of the same hosts get answers.
    OthersAnswered,
    /// No queue pair to this peer gets answers.
    NobodyAnswered,
    /// One tap before the break.
    OneTap,
}

/// This many other queue pairs with answers make it unlikely that they took other paths.
const MANY_NEIGHBOURS: u32 = 4;

/// Where it breaks; `None` when answers come, or nothing tells.
pub(super) fn locate(case: &Case) -> Option<Break> {
    if !reading::is_silent(case) {
        return None;
    }
    // Of a hole that taps see the peer's good-bye is no reason; of its silence it is.
    let between = between_taps(case);
    if between.is_some_and(|found| found.place != Verdict::PeerSilent) {
        return between;
    }
    said_good_bye(case)
        .or(between)
        .or_else(|| one_tap(case))
        .or_else(|| counted(case))
        .or_else(|| neighbours(case))
}

/// What a verdict of these three says, when it is not the one that fits.
pub(super) fn elsewhere(case: &Case, located: Option<Break>) -> Opinion {
    match located {
        Some(found) if found.confidence >= STRONG => Opinion::RuledOut,
        None if !reading::is_silent(case) => Opinion::RuledOut,
        None if case.sight.taps().is_empty() => Opinion::CannotTell(missing::PACKETS),
        Some(_) | None => Opinion::CannotTell(missing::OTHER_END),
    }
}

/// Requests arrive, and it is the peer that fails: nothing that drops packets explains that.
pub(super) fn is_peers_fault(case: &Case) -> bool {
    locate(case)
        .is_some_and(|found| found.place == Verdict::PeerSilent && found.confidence >= STRONG)
}

impl Break {
    /// The opinion of the rule whose verdict this is.
    pub(super) fn fits(
        &self,
        text: &str,
        evidence: Vec<Evidence>,
        next_steps: Vec<String>,
    ) -> Opinion {
        let (confidence, text) = (self.confidence, text.to_owned());
        Opinion::Fits(Finding { confidence, text, evidence, next_steps })
    }

    const fn new(place: Verdict, why: Why, confidence: f64) -> Self {
        Self { place, why, confidence }
    }
}

fn said_good_bye(case: &Case) -> Option<Break> {
    // A tap that saw no tries does not know which came first: a peer ends the connection after a hole as well.
    let is_said = case
        .sight
        .requests()
        .any(|requests| requests.was_disconnected && requests.ladder.is_some());
    is_said.then_some(Break::new(Verdict::PeerSilent, Why::SaidGoodBye, DIRECT))
}

fn between_taps(case: &Case) -> Option<Break> {
    let (near, far) = (near(case)?, far(case)?);
    let ladder = near.ladder()?;
    let arrived = far.arrivals_of(&ladder);
    if arrived == 0 {
        let found = Break::new(Verdict::ForwardBlackHole, Why::LostBetweenTaps, CERTAIN);
        return (!far.misses_packets()).then_some(found);
    }
    if !is_most_of(arrived.into(), ladder.tries.into()) {
        // Some tries pass and some do not: loss, but no hole.
        return None;
    }
    match far.heard() {
        Heard::Since if near.heard() == Heard::Since => Some(near.answers_pass()),
        Heard::Since => {
            Some(Break::new(Verdict::ReverseBlackHole, Why::AnswersLostBetweenTaps, CERTAIN))
        }
        Heard::Before if far.place == Place::AtResponder => {
            Some(Break::new(Verdict::PeerSilent, Why::ArrivesUnanswered, CERTAIN))
        }
        _ => None,
    }
}

fn one_tap(case: &Case) -> Option<Break> {
    let views = || [near(case), far(case)].into_iter().flatten();
    let Some(here) = views().find(|view| view.tries() > 0) else {
        let here = view(case, Place::AtResponder).filter(|_| near(case).is_none())?;
        let was_answered = here.heard() != Heard::Never && !here.misses_packets();
        let found = Break::new(Verdict::ForwardBlackHole, Why::NoRetryArrived, STRONG);
        return was_answered.then_some(found);
    };
    if here.tries() < reading::MIN_TRIES {
        // Behind a place that drops most packets a single try is no sign of the peer's silence.
        return None;
    }
    match here.heard() {
        Heard::Since => Some(here.answers_pass()),
        Heard::Before if here.place == Place::AtResponder => {
            Some(Break::new(Verdict::PeerSilent, Why::ArrivesUnanswered, DIRECT))
        }
        _ => None,
    }
}

fn counted(case: &Case) -> Option<Break> {
    match case.neighbours.peer_qp {
        PeerQp::Failed | PeerQp::Gone => {
            return Some(Break::new(Verdict::PeerSilent, Why::PeerQpLost, STRONG));
        }
        PeerQp::NotKnown | PeerQp::Alive => {}
    }
    if case.facts.responder.is_process_alive == Some(false) {
        return Some(Break::new(Verdict::PeerSilent, Why::ProcessDead, STRONG));
    }
    if case.facts.responder.duplicate_requests.is_some_and(|count| count > 0) {
        return Some(Break::new(Verdict::ReverseBlackHole, Why::CountedDuplicates, STRONG));
    }
    None
}

fn neighbours(case: &Case) -> Option<Break> {
    let here = near(case)?;
    if here.heard() == Heard::Unclear {
        return None;
    }
    let (answered, unanswered) = (case.neighbours.answered, case.neighbours.unanswered);
    if answered > 0 {
        let confidence = match unanswered {
            0 if answered >= MANY_NEIGHBOURS => STRONG,
            0 => LIKELY,
            _ => OPEN,
        };
        return Some(Break::new(Verdict::PeerSilent, Why::OthersAnswered, confidence));
    }
    let (why, confidence) =
        if unanswered > 0 { (Why::NobodyAnswered, LIKELY) } else { (Why::OneTap, OPEN) };
    Some(Break::new(Verdict::ForwardBlackHole, why, confidence))
}

/// All taps at one place: ingress and egress of a port may be two of them.
struct View<'a> {
    place: Place,
    taps: Vec<&'a TapSight>,
}

/// What came back at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Answers since the requester began to try again.
    Since,
    /// Answers, and none since then.
    Before,
    /// Never any: they may not come by at this place.
    Never,
    /// There are answers, and nobody knows when.
    Unclear,
}

/// The place nearest to the requester that saw requests, the responder's own host left out.
fn near(case: &Case) -> Option<View<'_>> {
    view(case, Place::AtRequester).or_else(|| view(case, Place::OnTheWay))
}

/// The place behind it that saw requests.
fn far(case: &Case) -> Option<View<'_>> {
    let between = || {
        let near = near(case)?;
        view(case, Place::OnTheWay).filter(|_| near.place == Place::AtRequester)
    };
    view(case, Place::AtResponder).or_else(between)
}

fn view(case: &Case, place: Place) -> Option<View<'_>> {
    let taps: Vec<_> = case.sight.taps().iter().filter(|tap| tap.place == place).collect();
    let view = View { place, taps };
    let saw_requests = view.requests().next().is_some();
    saw_requests.then_some(view)
}

impl View<'_> {
    fn requests(&self) -> impl Iterator<Item = &Requests> {
        self.taps.iter().filter_map(|tap| tap.requests.as_ref())
    }

    fn answers(&self) -> impl Iterator<Item = &Answers> {
        self.taps.iter().filter_map(|tap| tap.answers.as_ref())
    }

    /// The tries that nobody has answered.
    fn ladder(&self) -> Option<Ladder> {
        let ladders = self.requests().filter_map(|requests| requests.ladder);
        ladders.filter(|ladder| !ladder.was_answered).max_by_key(|ladder| ladder.tries)
    }

    /// Times that the requester repeated what was acknowledged here. Tries without an answer that are as many
    /// are the same ones: an acknowledgement ends a ladder.
    fn repeats_after_ack(&self) -> u32 {
        let repeats = self.requests().map(|requests| requests.rewinds_after_ack).max().unwrap_or(0);
        let tries = self.ladder().map_or(0, |ladder| ladder.tries);
        if repeats > tries { repeats } else { 0 }
    }

    fn tries(&self) -> u32 {
        self.ladder().map_or(0, |ladder| ladder.tries).max(self.repeats_after_ack())
    }

    /// How many of these tries came by here. Where each was answered, they make no ladder; where the tap
    /// misses some, the oldest PSN may be another one.
    fn arrivals_of(&self, ladder: &Ladder) -> u32 {
        let ladders = self.requests().filter_map(|requests| requests.ladder);
        let tries = ladders.filter(|here| !here.was_answered || here.psn == ladder.psn);
        tries.map(|here| here.tries).max().unwrap_or(0).max(self.repeats_after_ack())
    }

    /// More than one packet of a hundred was acknowledged and not seen: that a try was not seen says nothing.
    fn misses_packets(&self) -> bool {
        self.requests().any(|requests| {
            let unseen = requests.sequence.map_or(0, |sequence| sequence.unseen);
            unseen.saturating_mul(100) > requests.packets
        })
    }

    fn heard(&self) -> Heard {
        let ladder = self.ladder();
        let tries = ladder.map_or(0, |ladder| ladder.tries);
        if self.repeats_after_ack() > 0 {
            return Heard::Since;
        }
        let mut heard = Heard::Never;
        for answers in self.answers().filter(|answers| answers.packets > 0) {
            let began = ladder.and_then(|ladder| ladder.first_try);
            let is_since = match (answers.since_ladder, answers.last_seen, began) {
                (Some(count), _, _) => Some(count > 0 && is_most_of(count, tries.into())),
                (None, Some(last), Some(began)) => Some(last > began),
                _ => None,
            };
            match is_since {
                Some(true) => return Heard::Since,
                Some(false) => heard = Heard::Before,
                None if heard == Heard::Never => heard = Heard::Unclear,
                None => {}
            }
        }
        heard
    }

    /// Answers come by here, and the requester goes on asking.
    const fn answers_pass(&self) -> Break {
        match self.place {
            Place::AtRequester => {
                Break::new(Verdict::ReverseBlackHole, Why::AnswersNotTaken, LIKELY)
            }
            Place::OnTheWay | Place::AtResponder => {
                Break::new(Verdict::ReverseBlackHole, Why::AnswersPassed, STRONG)
            }
        }
    }
}

/// At least half: one of several may be chance, a packet that was under way.
const fn is_most_of(part: u64, whole: u64) -> bool {
    part.saturating_mul(2) >= whole
}
