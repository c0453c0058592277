//! What the PSN engine costs for one packet, and what its window would cost with 64, 128 or 256 PSNs.
//!
//! `cargo run --release -p roce-common --example window_cost` prints the median of some rounds, in
//! nanoseconds, on one CPU of the machine that it runs on.

use std::hint::black_box;
use std::time::Instant;

use roce_common::psn::Psn;
use roce_common::sequence::{Sequence, SequenceKind, SequencePacket, SequenceState, SequenceWord};

const ROUNDS: usize = 101;
/// A hole stays open so long.
const PACKETS: u32 = 60_000;

/// The sets of the engine's window, with more or fewer words: what is missing, and what came again.
struct Sets<const WORDS: usize> {
    holes: [u64; WORDS],
    filled: [u64; WORDS],
}

impl<const WORDS: usize> Sets<WORDS> {
    /// Everything moves back by `count`, below 64.
    fn advance(set: &mut [u64; WORDS], count: u32) {
        let mut carry = 0;
        for word in set {
            let out = if count == 0 { 0 } else { *word >> (64 - count) };
            *word = *word << count | carry;
            carry = out;
        }
    }

    /// One packet in order, or one that fills the hole `back` before it.
    fn packet(&mut self, back: u32) -> u32 {
        if back == 0 {
            Self::advance(&mut self.holes, 1);
            Self::advance(&mut self.filled, 1);
            return 0;
        }
        let (word, bit) = ((back / 64) as usize % WORDS, 1 << (back % 64));
        let found = self.holes[word] & bit;
        self.holes[word] &= !bit;
        self.filled[word] |= found;
        self.holes.iter().chain(&self.filled).map(|word| word.count_ones()).sum()
    }
}

/// Median nanoseconds for each of `PACKETS` packets.
fn measure(mut round: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_nanos() as f64 / f64::from(PACKETS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn window<const WORDS: usize>() -> f64 {
    let mut sets = Sets { holes: [0x10; WORDS], filled: [0; WORDS] };
    measure(|| {
        for number in 0..PACKETS {
            black_box(sets.packet(black_box(if number % 16 == 15 { 9 } else { 0 })));
        }
    })
}

/// The engine over packets whose PSNs are `psn(number)`, from a fresh state on.
fn engine(psn: impl Fn(u32) -> u32) -> f64 {
    measure(|| {
        let (mut word, mut state) = (SequenceWord::default(), SequenceState::default());
        for number in 0..PACKETS {
            let packet = SequencePacket {
                psn: Psn::new(black_box(psn(number))),
                span: 1,
                kind: SequenceKind::More,
                payload: 4096,
                time_us: number,
                idle: 1,
                is_copy: false,
            };
            black_box(Sequence { word: &mut word, state: &mut state }.observe(&packet));
        }
    })
}

fn main() {
    println!("the engine, nanoseconds a packet");
    println!("  in order                            {:5.1}", engine(|number| number));
    let with_hole = |number: u32| if number < 8 { number } else { number + 1 };
    println!("  in order, while a hole is open      {:5.1}", engine(with_hole));
    // Of 32 packets, the first of the latest 16 is late, and comes as the last.
    let late = |number: u32| match number % 32 {
        0..16 => number,
        16..31 => number + 1,
        at => number - at + 16,
    };
    println!("  one of 32 late                      {:5.1}", engine(late));
    // 16 new ones, and the same 16 again.
    let again = |number: u32| number / 32 * 16 + number % 16;
    println!("  every packet sent twice             {:5.1}", engine(again));
    println!("the sets of the window alone, nanoseconds a packet while a hole is open");
    println!("   64 PSNs {:5.2}", window::<1>());
    println!("  128 PSNs {:5.2}", window::<2>());
    println!("  256 PSNs {:5.2}", window::<4>());
}
