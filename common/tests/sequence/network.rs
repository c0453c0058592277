//! A requester, a responder and a network between them: what the tap in front of the responder says is
//! held against what the network did.

use std::collections::{BTreeMap, BTreeSet};

use roce_common::sequence::SequenceKind;

use crate::model::Counts;
use crate::trace::{Engine, Step, psn};

/// One way through the network, in microseconds.
const DELAY: u64 = 10;
/// Time between two packets.
const PACE: u64 = 2;
/// Silence after which the requester goes back.
const TIMEOUT: u64 = 4_000;

#[derive(Clone, Copy, Debug)]
struct Network {
    packets: u64,
    window: u64,
    /// Of 100 packets, how many are held back, and for how long at most.
    late: u64,
    jitter: u64,
    /// Of 100 packets, how many are dropped.
    dropped: u64,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Arrival {
    Request(u64),
    Ack(u64),
    Nak(u64),
}

/// What the network did.
#[derive(Debug, Default)]
struct Truth {
    drops: u32,
    repeats: u32,
}

struct World {
    network: Network,
    engine: Engine,
    truth: Truth,
    now: u64,
    last_seen: u64,
    /// By time and number.
    events: BTreeMap<(u64, u64), Arrival>,
    number: u64,
    /// Requester.
    next: u64,
    unacknowledged: u64,
    progress: u64,
    /// Responder.
    expected: u64,
    has_sent_nak: bool,
    seen: BTreeSet<u64>,
}

impl World {
    fn dice(&mut self, sides: u64) -> u64 {
        self.network.seed = self.network.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.network.seed >> 33) % sides
    }

    fn schedule(&mut self, delay: u64, arrival: Arrival) {
        self.number += 1;
        self.events.insert((self.now + delay, self.number), arrival);
    }

    fn send(&mut self) {
        let at = self.next;
        self.next += 1;
        if self.dice(100) < self.network.dropped {
            self.truth.drops += 1;
            return;
        }
        let is_late = self.network.jitter > 0 && self.dice(100) < self.network.late;
        let held = if is_late { self.dice(self.network.jitter) } else { 0 };
        self.schedule(DELAY + held, Arrival::Request(at));
    }

    fn arrive(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Request(at) => self.request(at),
            Arrival::Ack(at) => {
                if at >= self.unacknowledged {
                    self.unacknowledged = at + 1;
                    self.next = self.next.max(at + 1);
                    self.progress = self.now;
                }
            }
            Arrival::Nak(at) => {
                if at >= self.unacknowledged {
                    (self.unacknowledged, self.next, self.progress) = (at, at, self.now);
                }
            }
        }
    }

    fn request(&mut self, at: u64) {
        let step = Step {
            psn: at,
            span: 1,
            kind: SequenceKind::More,
            payload: 1,
            time_us: self.now,
            idle: (self.now - self.last_seen) as u32,
            is_copy: false,
        };
        self.last_seen = self.now;
        self.engine.sequence().observe(&step.packet());
        self.truth.repeats += u32::from(!self.seen.insert(at));
        let now = self.now as u32;
        if at > self.expected {
            if !self.has_sent_nak {
                self.has_sent_nak = true;
                self.engine.sequence().note_nak(psn(self.expected), now);
                self.schedule(DELAY, Arrival::Nak(self.expected));
            }
            return;
        }
        if at == self.expected {
            self.expected += 1;
            self.has_sent_nak = false;
        }
        self.engine.sequence().note_ack(psn(self.expected - 1), now);
        self.schedule(DELAY, Arrival::Ack(self.expected - 1));
    }

    fn run(mut self) -> (Counts, Truth) {
        while self.unacknowledged < self.network.packets {
            if self.now - self.progress > TIMEOUT {
                (self.next, self.progress) = (self.unacknowledged, self.now);
            }
            let is_open = self.next < self.unacknowledged + self.network.window;
            if is_open && self.next < self.network.packets && self.now.is_multiple_of(PACE) {
                self.send();
            }
            self.now += 1;
            while let Some((&key, &arrival)) = self.events.first_key_value()
                && key.0 <= self.now
            {
                self.events.remove(&key);
                self.arrive(arrival);
            }
        }
        // What is still on its way.
        while let Some((key, arrival)) = self.events.pop_first() {
            self.now = self.now.max(key.0);
            self.arrive(arrival);
        }
        self.engine.sequence().settle();
        (self.engine.counts(), self.truth)
    }
}

impl Network {
    fn run(self) -> (Counts, Truth) {
        let world = World {
            network: self,
            engine: Engine::default(),
            truth: Truth::default(),
            now: 0,
            last_seen: 0,
            events: BTreeMap::new(),
            number: 0,
            next: 0,
            unacknowledged: 0,
            progress: 0,
            expected: 0,
            has_sent_nak: false,
            seen: BTreeSet::new(),
        };
        world.run()
    }
}

/// What became of the PSNs in many networks like this one, together.
#[derive(Debug, Default)]
struct Sum {
    missing: u32,
    lost: u32,
    reordered: u32,
    drops: u32,
}

fn sum(late: u64, jitter: u64, dropped: u64) -> Sum {
    let mut sum = Sum::default();
    for seed in 0..200 {
        let (packets, window) = (200, 10 + seed % 150);
        let network = Network { packets, window, late, jitter, dropped, seed: seed * 7919 };
        let (counts, truth) = network.run();
        assert_eq!(counts.missing, counts.lost + counts.reordered + counts.unseen, "{network:?}");
        assert!(counts.recovered == counts.lost && counts.unseen == 0, "{network:?} {counts:?}");
        assert!(counts.retransmitted <= truth.repeats, "{network:?} {counts:?} {truth:?}");
        sum.missing += counts.missing;
        sum.lost += counts.lost;
        sum.reordered += counts.reordered;
        sum.drops += truth.drops;
    }
    sum
}

/// A late packet may come just where the sender, going back, would have sent it again, and the sender may
/// go back once more before it does: nobody can tell that from a loss. It is rare, even where so many
/// packets are held back for longer than the way there and back takes.
#[test]
fn what_is_late_is_not_lost() {
    for (late, jitter, most_of_1000) in [
        (1, 30, 4),
        (5, 30, 8),
        (12, 30, 15),
        (1, 500, 0),
        (5, 500, 5),
        (1, 3_000, 0),
        (5, 3_000, 5),
    ] {
        let counts = sum(late, jitter, 0);
        let network = format!("{late}% held back for up to {jitter} us: {counts:?}");
        assert!(counts.missing > 300, "{network}");
        assert!(counts.lost * 1000 <= counts.missing * most_of_1000, "{network}");
    }
}

#[test]
fn what_is_lost_is_not_late() {
    for (dropped, most_of_1000) in [(1, 0), (3, 0), (5, 2), (10, 10)] {
        let counts = sum(0, 0, dropped);
        assert!(counts.missing > 300, "{dropped}% dropped: {counts:?}");
        let wrong = counts.reordered * 1000;
        assert!(wrong <= counts.missing * most_of_1000, "{dropped}% dropped: {counts:?}");
    }
}

#[test]
fn no_more_is_lost_than_was_dropped() {
    for (late, jitter) in [(1, 30), (5, 30), (5, 500), (5, 3_000)] {
        for dropped in [1, 3, 6] {
            let counts = sum(late, jitter, dropped);
            let network = format!("{late}% up to {jitter} us late, {dropped}% dropped: {counts:?}");
            assert!(counts.lost <= counts.drops, "{network}");
            assert!(counts.lost * 10 >= counts.missing, "{network}");
        }
    }
}
