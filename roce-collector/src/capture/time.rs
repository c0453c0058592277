//! Capture times.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in time: nanoseconds since 1970-01-01 00:00:00 UTC, up to the year 2554.
///
/// Shown and serialized as RFC 3339 with nine decimals, for example
/// `2024-05-01T12:00:00.000000001Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From nanoseconds since the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.0);
        humantime::format_rfc3339_nanos(time).fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).map_err(D::Error::custom)?;
        u64::try_from(since_epoch.as_nanos()).map(Self).map_err(D::Error::custom)
    }
}

/// How an interface counts time: the pcapng options `if_tsresol` and `if_tsoffset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    resolution: Resolution,
    /// Seconds to add to every time.
    pub(super) offset: i64,
}

#[derive(Clone, Copy, Debug)]
enum Resolution {
    /// Whole nanoseconds per tick: every resolution seen in the field.
    NanosPerTick(u64),
    TicksPerSecond(u128),
    /// More ticks per second than 128 bits can count.
    Unusable,
}

impl Clock {
    pub(super) const MICROSECONDS: Self =
        Self { resolution: Resolution::NanosPerTick(1000), offset: 0 };

    /// Sets the resolution from `if_tsresol`: a negative power of 10, or of 2 with the top bit set.
    pub(super) fn set_resolution(&mut self, if_tsresol: u8) {
        let base = if if_tsresol & 0x80 == 0 { 10_u128 } else { 2 };
        let nanos = u128::from(NANOS_PER_SEC);
        self.resolution = match base.checked_pow(u32::from(if_tsresol & 0x7f)) {
            Some(ticks) if nanos.is_multiple_of(ticks) => {
                Resolution::NanosPerTick((nanos / ticks) as u64)
            }
            Some(ticks) => Resolution::TicksPerSecond(ticks),
            None => Resolution::Unusable,
        };
    }

    /// The time of `ticks`, rounded down; `None` when a [`Timestamp`] cannot hold it.
    #[inline]
    pub(super) fn at(&self, ticks: u64) -> Option<Timestamp> {
        let nanos = match self.resolution {
            // The usual case stays in 64 bits.
            Resolution::NanosPerTick(nanos) if self.offset == 0 => {
                return ticks.checked_mul(nanos).map(Timestamp);
            }
            Resolution::NanosPerTick(nanos) => i128::from(ticks) * i128::from(nanos),
            Resolution::TicksPerSecond(per_second) => {
                // 2^64 * 10^9 fits into 94 bits.
                (u128::from(ticks) * u128::from(NANOS_PER_SEC) / per_second).cast_signed()
            }
            Resolution::Unusable => return None,
        };
        let nanos = nanos + i128::from(self.offset) * i128::from(NANOS_PER_SEC);
        u64::try_from(nanos).ok().map(Timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(if_tsresol: u8, offset: i64) -> Clock {
        let mut clock = Clock { offset, ..Clock::MICROSECONDS };
        clock.set_resolution(if_tsresol);
        clock
    }

    #[test]
    fn shown_as_rfc_3339_with_nanoseconds() {
        let time = Timestamp::from_nanos(1_340_954_905_298_858_001);
        assert_eq!(time.to_string(), "2012-06-29T07:28:25.298858001Z");
        assert_eq!(serde_json::to_string(&time).unwrap(), "\"2012-06-29T07:28:25.298858001Z\"",);
        assert_eq!(Timestamp::default().to_string(), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(Timestamp(u64::MAX).to_string(), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn resolutions_of_ten_and_of_two() {
        let nanos = |clock: Clock, ticks| clock.at(ticks).map(Timestamp::as_nanos);
        assert_eq!(nanos(Clock::MICROSECONDS, 5), Some(5_000));
        assert_eq!(nanos(clock(9, 0), 5), Some(5));
        assert_eq!(nanos(clock(0, 0), 5), Some(5_000_000_000));
        assert_eq!(nanos(clock(12, 0), 5_999), Some(5));
        // 2^-10: 512 ticks are half a second. 2^-20 has no whole number of nanoseconds.
        assert_eq!(nanos(clock(0x8a, 0), 512), Some(500_000_000));
        assert_eq!(nanos(clock(0x94, 0), (1 << 20) + 1), Some(1_000_000_953));
        assert_eq!(nanos(clock(0xa0, 0), u64::MAX), Some(4_294_967_295_999_999_999));
    }

    #[test]
    fn offsets_and_times_out_of_range() {
        let nanos = |clock: Clock, ticks| clock.at(ticks).map(Timestamp::as_nanos);
        assert_eq!(nanos(clock(6, 2), 1), Some(2_000_001_000));
        assert_eq!(nanos(clock(6, -2), 3_000_000), Some(1_000_000_000));
        assert_eq!(nanos(clock(6, -2), 1), None, "before 1970");
        assert_eq!(nanos(clock(0, 0), u64::MAX), None, "after 2554");
        assert_eq!(nanos(clock(0, i64::MAX), u64::MAX), None);
        assert_eq!(nanos(clock(0, i64::MIN), 0), None);
        assert_eq!(nanos(clock(39, 0), 1), None, "10^39 does not fit into 128 bits");
        assert_eq!(nanos(clock(0xff, 0), u64::MAX), Some(0));
    }
}
