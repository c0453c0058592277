//! Times at the start of log lines.

use std::time::{Duration, UNIX_EPOCH};

use crate::capture::Timestamp;

/// A time, and what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock<'a> {
    /// The time, if it means the same everywhere.
    pub(super) time: Option<Timestamp>,
    /// As printed.
    pub(super) text: &'a str,
    /// Behind it, and behind the bracket that closes it.
    pub(super) rest: &'a str,
}

/// The time that `line` begins with.
///
/// RFC 3339 and its like with a blank, with or without zone; syslog's `Nov 29 17:00:00`; in brackets, too:
/// the same, the kernel's seconds since boot and UCX's seconds since 1970.
pub(super) fn clock(line: &str) -> Option<Clock<'_>> {
    let Some(inner) = line.strip_prefix('[') else {
        return date_time(line).or_else(|| syslog(line));
    };
    let (inner, rest) = inner.split_once(']')?;
    let text = inner.trim();
    let clock = seconds(text).or_else(|| date_time(text)).or_else(|| calendar(text))?;
    clock.rest.is_empty().then(|| Clock { text, rest: rest.trim_start(), ..clock })
}

/// `1600000000.000000` is a time, `1234.567890` is since boot.
fn seconds(text: &str) -> Option<Clock<'_>> {
    const YEAR_2001: u64 = 1_000_000_000;
    let (whole, fraction) = text.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let seconds: u64 = whole.parse().ok()?;
    let nanos = fraction.parse::<u64>().ok()? * 10_u64.pow(9 - fraction.len() as u32);
    let is_since_1970 = (YEAR_2001..YEAR_2001 * 10).contains(&seconds);
    let time = is_since_1970.then(|| Timestamp::from_nanos(seconds * 1_000_000_000 + nanos));
    Some(Clock { time, text, rest: "" })
}

/// `Sun Nov 29 17:00:00 2026`, as `dmesg -T` prints it: without zone.
fn calendar(text: &str) -> Option<Clock<'_>> {
    let year = syslog(text.split_once(' ')?.1)?.rest;
    let is_year = year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit());
    is_year.then_some(Clock { time: None, text, rest: "" })
}

/// `2026-11-29T17:00:00.123+01:00`, with T or a blank; fraction and zone may be missing.
fn date_time(line: &str) -> Option<Clock<'_>> {
    const PATTERN: &[u8; 19] = b"dddd-dd-dd dd:dd:dd";
    let bytes = line.as_bytes();
    let fits = PATTERN.iter().zip(bytes.get(..19)?).all(|(pattern, byte)| match pattern {
        b'd' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        other => other == byte,
    });
    if !fits {
        return None;
    }
    let mut end = 19;
    if bytes.get(end) == Some(&b'.') {
        end += 1 + bytes[end + 1..].iter().take(9).take_while(|b| b.is_ascii_digit()).count();
    }
    let local = humantime::parse_rfc3339_weak(&line[..end]).ok()?;
    let (zone, zone_len) = zone(&bytes[end..]);
    let nanos = local.duration_since(UNIX_EPOCH).ok().map(|d: Duration| d.as_nanos());
    let time = zone.zip(nanos).and_then(|(zone, nanos)| {
        let nanos = i128::try_from(nanos).ok()? - i128::from(zone) * 60 * 1_000_000_000;
        u64::try_from(nanos).ok().map(Timestamp::from_nanos)
    });
    let end = end + zone_len;
    Some(Clock { time, text: &line[..end], rest: line[end..].trim_start() })
}

/// Minutes east of Greenwich, and the length of the zone.
fn zone(bytes: &[u8]) -> (Option<i32>, usize) {
    let digits = |bytes: &[u8]| match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(i32::from(a - b'0') * 10 + i32::from(b - b'0')),
        _ => None,
    };
    let (sign, hours, minutes, len) = match bytes {
        [b'Z', ..] => return (Some(0), 1),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, ..] => (*sign, [*h1, *h2], [*m1, *m2], 6),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2, ..] => (*sign, [*h1, *h2], [*m1, *m2], 5),
        _ => return (None, 0),
    };
    match (digits(&hours), digits(&minutes)) {
        (Some(hours), Some(minutes)) => {
            let east = hours * 60 + minutes;
            (Some(if sign == b'-' { -east } else { east }), len)
        }
        _ => (None, 0),
    }
}

/// `Nov 29 17:00:00`: neither year nor zone.
fn syslog(line: &str) -> Option<Clock<'_>> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const PATTERN: &[u8; 12] = b" xd dd:dd:dd";
    let month = line.get(..3)?;
    let fits =
        PATTERN.iter().zip(line.as_bytes().get(3..15)?).all(|(pattern, byte)| match pattern {
            b'd' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_digit() || *byte == b' ',
            other => other == byte,
        });
    (MONTHS.contains(&month) && fits).then(|| Clock {
        time: None,
        text: &line[..15],
        rest: line[15..].trim_start(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Option<(Option<String>, &str, &str)> {
        clock(line).map(|clock| (clock.time.map(|time| time.to_string()), clock.text, clock.rest))
    }

    #[test]
    fn times_that_mean_the_same_everywhere() {
        let noon = Some("2026-11-29T12:00:00.500000000Z".to_owned());
        for line in [
            "2026-11-29T12:00:00.5Z rest",
            "2026-11-29T13:00:00.5+01:00 rest",
            "2026-11-29 07:00:00.5-0500 rest",
            "[2026-11-29T12:00:00.5Z] rest",
            "[1795953600.500000] rest",
        ] {
            let (time, _, rest) = shown(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((time, rest), (noon.clone(), "rest"), "{line}");
        }
    }

    #[test]
    fn times_that_do_not() {
        for (line, text) in [
            ("2026-11-29 12:00:00 rest", "2026-11-29 12:00:00"),
            ("[2026-11-29 12:00:00.738833] rest", "2026-11-29 12:00:00.738833"),
            ("Nov 29 12:00:00 rest", "Nov 29 12:00:00"),
            ("Nov  1 12:00:00 rest", "Nov  1 12:00:00"),
            ("[ 4929.694628] rest", "4929.694628"),
            ("[Sun Nov 29 12:00:00 2026] rest", "Sun Nov 29 12:00:00 2026"),
        ] {
            assert_eq!(shown(line), Some((None, text, "rest")), "{line}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for line in [
            "",
            "[",
            "[0] x",
            "[host-a:1:0:1] x",
            "2026-99-29T12:00:00Z",
            "Now 29 12:00:00",
            "[1.2.3] x",
        ] {
            assert_eq!(clock(line), None, "{line}");
        }
    }
}
