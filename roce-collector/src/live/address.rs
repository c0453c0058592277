//! Addresses in a bounded width.

/// Cuts the middle out of what is too long: the ends of addresses tell hosts apart.
pub(super) fn shorten(address: &str, width: usize) -> String {
    let length = address.chars().count();
    if length <= width {
        return address.to_owned();
    }
    let kept = width.saturating_sub(1);
    let tail = kept.div_ceil(2);
    let head: String = address.chars().take(kept - tail).collect();
    let tail: String = address.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_stay() {
        let address = "fd00:1111:2222:3333:4444:5555:6666:7777";
        assert_eq!(shorten(address, 20), "fd00:1111…:6666:7777");
        assert_eq!(shorten("198.18.0.1", 20), "198.18.0.1");
    }
}
