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

/// What is missing.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    near: BTreeSet<u64>,
    /// At most two, oldest first.
    far: Vec<Vec<u64>>,
    more: Hull,
}

impl Holes {
    /// `next` moves on over `count` PSNs.
    pub(crate) fn advance(&mut self, next: u64, count: u64) {
        let edge = (next + count).saturating_sub(NEAR);
        let mut leaving: Vec<Vec<u64>> = Vec::new();
        while let Some(psn) = self.near.first().copied().filter(|psn| *psn < edge) {
            self.near.remove(&psn);
            match leaving.last_mut() {
                Some(run) if run.last() == Some(&(psn - 1)) => run.push(psn),
                _ => leaving.push(vec![psn]),
            }
        }
        let too_many = leaving.len().saturating_sub(2);
        let too_many: u64 = leaving.drain(..too_many).map(|run| run.len() as u64).sum();
        if too_many > 0 {
            self.more.add(next - NEAR, next, too_many);
        }
        for run in leaving {
            self.add_far(run);
        }
    }

    /// These are missing, all before `next`.
    pub(crate) fn add(&mut self, next: u64, missing: impl IntoIterator<Item = u64>) {
        let (far, near): (Vec<_>, Vec<_>) = missing.into_iter().partition(|psn| *psn + NEAR < next);
        if !far.is_empty() {
            self.add_far(far);
        }
        self.near.extend(near);
    }

    fn add_far(&mut self, run: Vec<u64>) {
        if let Some(newer) = self.far.last_mut()
            && newer.last() == Some(&(run[0] - 1))
            && newer.len() + run.len() <= FAR as usize
        {
            newer.extend(run);
            return;
        }
        self.far.push(run);
        if self.far.len() > 2 {
            let oldest = self.far.remove(0);
            self.push_out(&oldest);
        }
    }

    fn push_out(&mut self, run: &[u64]) {
        if let (Some(first), Some(last)) = (run.first(), run.last()) {
            self.more.add(*first, last + 1, run.len() as u64);
        }
    }

    fn take_exactly(&mut self, start: u64, end: u64) -> u64 {
        let mut taken = self.near.extract_if(start..end, |_| true).count() as u64;
        for mut run in std::mem::take(&mut self.far) {
            let before = run.len();
            run.retain(|psn| !(start..end).contains(psn));
            taken += (before - run.len()) as u64;
            let rest = run.iter().position(|psn| *psn >= end).unwrap_or(0);
            if run.len() < before {
                self.push_out(&run[..rest]);
                run.drain(..rest);
            }
            if !run.is_empty() {
                self.far.push(run);
            }
        }
        taken
    }

    pub(crate) fn take(&mut self, start: u64, end: u64) -> u64 {
        let taken = self.take_exactly(start, end);
        taken + self.more.take_at(start, end - start - taken)
    }

    pub(crate) fn take_through(&mut self, last: u64) -> u64 {
        let taken = self.take_exactly(0, last + 1);
        taken + if self.more.end <= last + 1 { self.more.take_all() } else { 0 }
    }

    pub(crate) fn take_from(&mut self, first: u64) -> u64 {
        let taken = self.take_exactly(first, u64::MAX);
        taken + if self.more.start >= first { self.more.take_all() } else { 0 }
    }

    pub(crate) fn take_far(&mut self) -> u64 {
        let far: usize = self.far.drain(..).map(|run| run.len()).sum();
        far as u64 + self.more.take_all()
    }

    pub(crate) fn take_all(&mut self) -> u64 {
        let near = std::mem::take(&mut self.near).len() as u64;
        near + self.take_far()
    }

    /// How many are missing without a break from `first` to `last`.
    pub(crate) fn run_through(&self, first: u64, last: u64) -> u64 {
        let is_missing =
            |psn: &u64| self.near.contains(psn) || self.far.iter().any(|run| run.contains(psn));
        (first..=last).take_while(is_missing).count() as u64
    }

    pub(crate) fn add_somewhere(&mut self, start: u64, end: u64, count: u64) {
        self.more.add(start, end, count);
    }

    /// Gives up what is too old.
    pub(crate) fn age(&mut self, next: u64) {
        self.far.retain(|run| run.last().is_some_and(|last| next - (last + 1) < FAR));
        if self.more.count > 0 && next - self.more.end >= FAR {
            self.more.take_all();
        }
    }
}
