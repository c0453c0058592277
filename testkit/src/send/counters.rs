//! The interface's own count of frames it could not transmit.

use std::fs::File;
use std::io::{Read, Seek};

use anyhow::{Context, Result};

/// `net/dev` of the calling thread's namespace; an open file keeps showing that namespace.
const PATH: &str = "/proc/thread-self/net/dev";
/// Column of transmit drops behind the interface name.
const TX_DROP: usize = 11;

#[derive(Debug)]
pub(super) struct DropCounter {
    interface: String,
    file: File,
}

impl DropCounter {
    pub(super) fn open(interface: &str) -> Result<Self> {
        let file = File::open(PATH).with_context(|| format!("opening {PATH}"))?;
        Ok(Self { interface: interface.to_owned(), file })
    }

    pub(super) fn read(&mut self) -> Result<u64> {
        let mut text = String::new();
        self.file.rewind().and_then(|()| self.file.read_to_string(&mut text)).context(PATH)?;
        tx_drops(&text, &self.interface)
            .with_context(|| format!("{} is not in {PATH} any more", self.interface))
    }
}

fn tx_drops(text: &str, interface: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, columns) = line.split_once(':')?;
        (name.trim() == interface).then(|| columns.split_whitespace().nth(TX_DROP)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmit_drops_are_the_twelfth_column() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes packets\n\
                    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                    veth0:9 9 9 9 9 9 9 9 9 9 9 77 9 9 9 9\n";
        assert_eq!(tx_drops(text, "veth0"), Some(77));
        assert_eq!(tx_drops(text, "lo"), Some(12));
        assert_eq!(tx_drops(text, "eth0"), None);
    }
}
