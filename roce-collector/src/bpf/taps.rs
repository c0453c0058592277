//! Node-wide counters, one set for each tap and CPU.

use super::DatapathError;
use super::mapped::MappedArray;
use aya::Ebpf;
use roce_common::tap::TapCounters;

/// Counters of all taps.
#[derive(Debug)]
pub struct TapTable {
    counters: MappedArray<TapCounters>,
    cpus: usize,
}

impl TapTable {
    pub(super) fn new(ebpf: &Ebpf, taps: usize, cpus: usize) -> Result<Self, DatapathError> {
        Ok(Self { counters: MappedArray::new(ebpf, "TAPS", taps * cpus)?, cpus })
    }

    /// Number of taps.
    pub fn len(&self) -> usize {
        self.counters.len() / self.cpus
    }

    /// Whether there are no taps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum over all CPUs, zero for a tap that does not exist. Counters may be a few packets apart.
    pub fn read(&self, tap: u8) -> TapCounters {
        let mut sum = TapCounters::default();
        let first = usize::from(tap) * self.cpus;
        for index in first..first + self.cpus {
            if let Some(counters) = self.counters.pointer(index) {
                // SAFETY: the pointer is valid and aligned, and every bit pattern is a set of
                // counters. The kernel adds to them meanwhile; each is a word that is not torn.
                sum.merge(&unsafe { counters.read_volatile() });
            }
        }
        sum
    }
}
