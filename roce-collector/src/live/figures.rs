//! Figures in few characters.

use std::time::Duration;

/// Stands for what is not known.
pub(super) const UNKNOWN: &str = "–";

const UNITS: [&str; 6] = ["", "k", "M", "G", "T", "P"];

/// Three digits and a power of 1000; small figures with one decimal, unless they are whole.
pub(super) fn rate(value: f64) -> String {
    let mut value = value;
    let mut unit = 0;
    // 999.5 would be shown as 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let is_whole = unit == 0 && (value - value.round()).abs() < 0.05;
    let decimals = match value {
        _ if is_whole => 0,
        value if value < 9.995 && unit != 0 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    // What is not nothing is not shown as 0.
    if unit == 0 && value > 0.0 && value < 0.05 {
        return "<0.1".to_owned();
    }
    format!("{value:.decimals$}{}", UNITS[unit])
}

/// A count: all digits up to five, then as a rate.
pub(super) fn count(count: u64) -> String {
    if count < 100_000 { count.to_string() } else { rate(count as f64) }
}

/// A share in percent.
pub(super) fn percent(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.0005 {
        "<0.1%".to_owned()
    } else {
        format!("{:.1}%", ratio * 100.0)
    }
}

/// A short time.
pub(super) fn microseconds(time: f64) -> String {
    match time {
        time if time < 99.95 => format!("{time:.1}µs"),
        time if time < 999.5 => format!("{time:.0}µs"),
        time if time < 99_950.0 => format!("{:.1}ms", time / 1e3),
        time => format!("{:.0}ms", time / 1e3),
    }
}

/// Time since something, in one unit.
pub(super) fn age(age: Duration) -> String {
    match age.as_secs() {
        0..=1 => "now".to_owned(),
        seconds @ 2..=119 => format!("{seconds}s"),
        seconds @ 120..=7199 => format!("{}m", seconds / 60),
        seconds @ 7200..=172_799 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// A length of time in a sentence.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 && (seconds - seconds.round()).abs() > 0.05 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        let shown = [0.0, 0.01, 0.5, 3.0, 47.3, 999.4, 999.6, 12_345.0, 98_765_432.0, 4.0e11];
        let expected = ["0", "<0.1", "0.5", "3", "47.3", "999", "1.00k", "12.3k", "98.8M", "400G"];
        assert_eq!(shown.map(rate), expected);
    }

    #[test]
    fn something_is_never_nothing() {
        assert_eq!([0.0, 0.0001, 0.012, 1.0].map(percent), ["0.0%", "<0.1%", "1.2%", "100.0%"]);
        assert_eq!(
            [3.04, 120.0, 1500.0, 750_000.0].map(microseconds),
            ["3.0µs", "120µs", "1.5ms", "750ms"]
        );
        assert_eq!([99_999, 100_000].map(count), ["99999", "100k"]);
        assert_eq!(
            [1, 2, 119, 120, 7200].map(|s| age(Duration::from_secs(s))),
            ["now", "2s", "119s", "2m", "2h"]
        );
    }
}
