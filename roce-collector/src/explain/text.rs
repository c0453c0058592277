//! Finding values in a line.

use std::net::{IpAddr, Ipv6Addr};

/// The rest of `text` behind the first `key`.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

/// What stands between the first `open` and the next `close`.
pub(super) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    after(text, open)?.split_once(close).map(|(inner, _)| inner)
}

/// The first word: up to a blank or a sign that closes a value.
pub(super) fn word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_whitespace() || ",;)]>".contains(c));
    &text[..end.unwrap_or(text.len())]
}

/// A decimal number at the start of `text`, behind blanks; hexadecimal where it says so with `0x`.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let text = text.trim_start();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => digits_of(digits, 16),
        None => digits_of(text, 10),
    }
}

/// A hexadecimal number at the start of `text`, behind blanks, with or without `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    digits_of(digits, 16)
}

/// A decimal number with a sign.
pub(super) fn signed(text: &str) -> Option<i64> {
    let text = text.trim_start();
    match text.strip_prefix('-') {
        Some(rest) => digits_of(rest, 10).and_then(|value| i64::try_from(value).ok()).map(|v| -v),
        None => decimal(text).and_then(|value| i64::try_from(value).ok()),
    }
}

fn digits_of(text: &str, radix: u32) -> Option<u64> {
    let end = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len());
    u64::from_str_radix(&text[..end], radix).ok()
}

/// A decimal number behind `key`.
pub(super) fn decimal_after(text: &str, key: &str) -> Option<u64> {
    decimal(after(text, key)?)
}

/// A hexadecimal number behind `key`.
pub(super) fn hexadecimal_after(text: &str, key: &str) -> Option<u64> {
    hexadecimal(after(text, key)?)
}

/// A GID in the notation of IPv6.
pub(super) fn gid(text: &str) -> Option<Ipv6Addr> {
    word(text).parse().ok()
}

/// An address; the zone of a link-local one, as `%eth0`, is left out.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    text.split_once('%').map_or(text, |(address, _)| address).parse().ok()
}

/// Where `needle`, in ASCII, begins in `text`, whatever the case of either.
pub(super) fn find_ignoring_case(text: &str, needle: &str) -> Option<usize> {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}

/// The longest start of `text` of at most `max` bytes that ends between two characters.
pub(super) fn start(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_they_end() {
        assert_eq!(decimal(" 129 (Recv)"), Some(129));
        assert_eq!(decimal("0x81)"), Some(0x81));
        assert_eq!(decimal("x"), None);
        assert_eq!(hexadecimal("bdba80 opcode"), Some(0xbd_ba80));
        assert_eq!(hexadecimal("0x10vendor_err"), Some(0x10));
        assert_eq!(signed("-29703 "), Some(-29703));
        assert_eq!(decimal("99999999999999999999999"), None);
    }

    #[test]
    fn values_between_signs() {
        assert_eq!(between("peer 10.0.0.12<52184> with", "peer ", "<"), Some("10.0.0.12"));
        assert_eq!(word(" mlx5_3, more"), "mlx5_3");
        assert_eq!(gid("::ffff:10.0.0.12 hca"), "::ffff:10.0.0.12".parse().ok());
        assert_eq!(address("fe80::1%eth0"), "fe80::1".parse().ok());
        assert_eq!(find_ignoring_case("WC error: 6, Message: x", "message:"), Some(13));
        assert_eq!(find_ignoring_case("", "message"), None);
        assert_eq!(start("äöü", 3), "ä");
    }
}
