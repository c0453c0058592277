//! Missing PSNs as the model keeps them: sets and lists, PSNs that do not wrap.

use std::collections::BTreeSet;

/// As far as the engine remembers PSNs one by one.
const NEAR: u64 = 128;
/// And as far as it remembers them at all; also the longest range.
const FAR: u64 = 65_535;

/// `count` PSNs somewhere from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hull {
    start: u64,
    end: u64,
    pub(crate) count: u64,
}

impl Hull {
    pub(crate) fn contains(&self, psn: u64) -> bool {
        self.count > 0 && (self.start..self.end).contains(&psn)
    }

    /// Returns what had to be given up.
    pub(crate) fn add(&mut self, start: u64, end: u64, count: u64) -> u64 {
        if self.count > 0 {
            let (first, last) = (self.start.min(start), self.end.max(end));
            if last - first <= FAR && self.count + count <= FAR {
                *self = Self { start: first, end: last, count: self.count + count };
                return 0;
            }
        }
        let len = (end - start).min(FAR);
        let kept = count.min(len);
        let given_up = self.count + count - kept;
        *self = Self { start, end: start + len, count: kept };
        given_up
    }

    pub(crate) fn take(&mut self, count: u64) -> u64 {
        let taken = count.min(self.count);
        self.count -= taken;
        taken
    }

    pub(crate) fn take_at(&mut self, psn: u64, count: u64) -> u64 {
        if self.contains(psn) { self.take(count) } else { 0 }
    }

    pub(crate) fn take_all(&mut self) -> u64 {
        self.take(u64::MAX)
    }
}

/// PSNs behind the next one.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    near: BTreeSet<u64>,
    far: Hull,
}

impl Holes {
    pub(crate) fn count(&self) -> u64 {
        self.near.len() as u64 + self.far.count
    }

    pub(crate) fn contains(&self, psn: u64) -> bool {
        self.near.contains(&psn) || self.far.contains(psn)
    }

    /// `next` moves on over `count` PSNs. Gives what was given up.
    pub(crate) fn advance(&mut self, next: u64, count: u64) -> u64 {
        let edge = (next + count).saturating_sub(NEAR);
        let leaving: Vec<u64> = self.near.extract_if(..edge, |_| true).collect();
        match (leaving.first(), leaving.last()) {
            (Some(first), Some(last)) => self.far.add(*first, last + 1, leaving.len() as u64),
            _ => 0,
        }
    }

    /// Adds PSNs in a row that are before `next`. Gives what was given up.
    pub(crate) fn add(&mut self, next: u64, psns: impl IntoIterator<Item = u64>) -> u64 {
        let (far, near): (Vec<_>, Vec<_>) = psns.into_iter().partition(|psn| *psn + NEAR < next);
        self.near.extend(near);
        match (far.first(), far.last()) {
            (Some(first), Some(last)) => self.far.add(*first, last + 1, far.len() as u64),
            _ => 0,
        }
    }

    pub(crate) fn add_somewhere(&mut self, start: u64, end: u64, count: u64) -> u64 {
        if count == 0 { 0 } else { self.far.add(start, end, count) }
    }

    fn take_near(&mut self, start: u64, end: u64) -> u64 {
        self.near.extract_if(start..end, |_| true).count() as u64
    }

    pub(crate) fn take(&mut self, start: u64, end: u64) -> u64 {
        let near = self.take_near(start, end);
        near + self.far.take_at(start, end - start - near)
    }

    /// At most `count`.
    pub(crate) fn take_some(&mut self, start: u64, end: u64, count: u64) -> u64 {
        let near = self.take_near(start, end);
        if near > count {
            self.add_somewhere(start, end, near - count);
            return count;
        }
        near + self.far.take_at(start, count - near)
    }

    pub(crate) fn take_through(&mut self, last: u64) -> u64 {
        let near = self.take_near(0, last + 1);
        near + if self.far.end <= last + 1 { self.far.take_all() } else { 0 }
    }

    pub(crate) fn take_from(&mut self, first: u64) -> u64 {
        let near = self.take_near(first, u64::MAX);
        near + if self.far.start >= first { self.far.take_all() } else { 0 }
    }

    pub(crate) fn take_far(&mut self) -> u64 {
        self.far.take_all()
    }

    pub(crate) fn take_all(&mut self) -> u64 {
        self.take_near(0, u64::MAX) + self.take_far()
    }

    /// How many there are without a break from `first` to `last`, or how many there may be.
    pub(crate) fn run_through(&self, next: u64, first: u64, last: u64) -> u64 {
        if first > last {
            return 0;
        }
        if next - first <= NEAR {
            return (first..=last).take_while(|psn| self.near.contains(psn)).count() as u64;
        }
        let far = &self.far;
        match far.contains(first) {
            false => 0,
            true if far.count == far.end - far.start => (last + 1).min(far.end) - first,
            true => 1,
        }
    }

    /// Gives up what is too old.
    pub(crate) fn age(&mut self, next: u64) {
        if self.far.count > 0 && next - self.far.end >= FAR {
            self.far.take_all();
        }
    }
}
