//! Lines for people: what repeats is said once.

use super::Entry;

/// Entries in a row that may repeat together: gap, NAK, rewind, and one more.
const MAX_PERIOD: usize = 4;
/// Fewer repeats are shown as they are.
const MIN_REPEATS: usize = 4;

/// A line of a time line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// An entry as it is.
    Entry(&'a Entry),
    /// Entries that are like the ones before.
    Like {
        /// How many entries before this line they repeat.
        period: usize,
        /// How many entries they are.
        entries: usize,
    },
    /// Entries in the middle that are left out.
    Omitted(usize),
}

/// Folds repeats, then leaves out the middle of what is more than `first + last` lines.
pub fn fold(entries: &[Entry], first: usize, last: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = entries;
    while !rest.is_empty() {
        let (period, repeats) = repetition(rest);
        if repeats < MIN_REPEATS {
            let (entry, behind) = rest.split_at(1);
            lines.extend(entry.iter().map(Line::Entry));
            rest = behind;
            continue;
        }
        // The first two and the last are shown.
        let (all, behind) = rest.split_at(period * repeats);
        lines.extend(all[..2 * period].iter().map(Line::Entry));
        lines.push(Line::Like { period, entries: (repeats - 3) * period });
        lines.extend(all[(repeats - 1) * period..].iter().map(Line::Entry));
        rest = behind;
    }
    if lines.len() > first + last {
        let count = |line: &Line<'_>| match line {
            Line::Entry(_) => 1,
            Line::Like { entries, .. } | Line::Omitted(entries) => *entries,
        };
        let middle = first..lines.len() - last;
        let omitted = lines[middle.clone()].iter().map(count).sum();
        lines.splice(middle, [Line::Omitted(omitted)]);
    }
    lines
}

/// The period that repeats over the most entries from the start on, and how often it comes.
fn repetition(entries: &[Entry]) -> (usize, usize) {
    let repeats = |period: usize| {
        let mut cycles = entries.chunks_exact(period);
        let Some(first) = cycles.next() else { return 0 };
        1 + cycles.take_while(|cycle| cycle.iter().zip(first).all(|(a, b)| is_like(a, b))).count()
    };
    let candidates = (1..=MAX_PERIOD).map(|period| (period, repeats(period)));
    // The shortest of those that cover the same.
    candidates
        .rev()
        .max_by_key(|(period, repeats)| if *repeats < MIN_REPEATS { 0 } else { period * repeats })
        .unwrap_or((1, 1))
}

fn is_like(one: &Entry, other: &Entry) -> bool {
    (one.src, one.dst_qp) == (other.src, other.dst_qp)
        && one.event.likeness() == other.event.likeness()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Event;

    fn entry(frame: u64, event: Event) -> Entry {
        let what = event.to_string();
        Entry { t: None, frame, src: [10, 0, 0, 1].into(), dst_qp: 1, what, event }
    }

    fn gap(frame: u64) -> Entry {
        entry(frame, Event::Gap { psn: 1, last: 1, missing: 1 })
    }

    fn nak(frame: u64) -> Entry {
        entry(frame, Event::Nak { code: "psn_sequence_error", psn: 1 })
    }

    fn shown(lines: &[Line<'_>]) -> Vec<String> {
        lines
            .iter()
            .map(|line| match line {
                Line::Entry(entry) => entry.frame.to_string(),
                Line::Like { period, entries } => format!("{entries} like {period}"),
                Line::Omitted(entries) => format!("{entries} omitted"),
            })
            .collect()
    }

    #[test]
    fn repeats_are_said_once() {
        let mut entries: Vec<_> = (0..40).map(gap).collect();
        entries.push(nak(40));
        assert_eq!(shown(&fold(&entries, 99, 99)), ["0", "1", "37 like 1", "39", "40"]);
        let entries: Vec<_> = (0..10).flat_map(|n| [gap(2 * n), nak(2 * n + 1)]).collect();
        let expected = ["0", "1", "2", "3", "14 like 2", "18", "19"];
        assert_eq!(shown(&fold(&entries, 99, 99)), expected);
        assert_eq!(shown(&fold(&entries[..6], 99, 99)), ["0", "1", "2", "3", "4", "5"]);
    }

    #[test]
    fn the_middle_is_counted() {
        let entries: Vec<_> = (0..3).flat_map(|n| [gap(2 * n), nak(2 * n + 1)]).collect();
        assert_eq!(shown(&fold(&entries, 2, 1)), ["0", "1", "3 omitted", "5"]);
        assert_eq!(fold(&[], 2, 1), []);
    }
}
