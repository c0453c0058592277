//! Cut and changed datagrams.

use proptest::prelude::*;
use roce_collector::inventory::netlink::{
    Answer, DeviceRecord, Losses, PortRecord, QpRecord, Record,
};

use crate::recording::Recording;

fn take<R: Record>(datagram: &[u8]) -> Answer<R> {
    let sequence =
        datagram.get(8..12).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().unwrap()));
    let mut answer = Answer::new(sequence, 10_000);
    answer.take(datagram);
    answer
}

/// A datagram of some forty queue pairs in all states.
fn queue_pairs() -> Vec<u8> {
    Recording::open("linux-6.12/states").0[2].1[0].clone()
}

#[test]
fn a_datagram_that_is_cut_is_counted_wherever_it_is_cut() {
    let whole = queue_pairs();
    for length in 1..whole.len() {
        let answer = take::<QpRecord>(&whole[..length]);
        let sequence_is_there = length >= 16;
        assert_eq!((answer.losses.damaged, answer.records.len()), (1, 0), "{length}");
        assert!(sequence_is_there || answer.losses.foreign == 0);
    }
    assert_eq!(take::<QpRecord>(&whole).losses, Losses::default());
}

/// As above, but the message's own length says that nothing is missing.
#[test]
fn a_message_that_is_cut_keeps_what_comes_before() {
    let whole = queue_pairs();
    let all = take::<QpRecord>(&whole).records;
    let handle = 16 + 8 + 8;
    for length in handle + 1..whole.len() {
        let mut cut = whole[..length].to_vec();
        cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
        let answer = take::<QpRecord>(&cut);
        assert!(answer.losses.damaged >= 1, "{length}");
        assert!(all.starts_with(&answer.records), "{length}");
    }
}

/// A table that ends in the middle of an entry, while all outer lengths fit.
#[test]
fn an_entry_that_lacks_its_number_type_or_state_is_none() {
    let whole = queue_pairs();
    let all = take::<QpRecord>(&whole).records.len();
    let entry = 16 + 8 + 8 + 4 + 4;
    let mut at = entry;
    let first_entry_end = entry - 4 + usize::from(u16::from_ne_bytes([whole[36], whole[37]]));
    let mut needed = 0;
    while at < first_entry_end {
        let kind = u16::from_ne_bytes([whole[at + 2], whole[at + 3]]);
        let length = usize::from(u16::from_ne_bytes([whole[at], whole[at + 1]]));
        let mut changed = whole.clone();
        changed[at + 2..at + 4].copy_from_slice(&999_u16.to_ne_bytes());
        let answer = take::<QpRecord>(&changed);
        let is_needed = matches!(kind, 21 | 26 | 27);
        needed += usize::from(is_needed);
        assert_eq!(answer.losses.damaged, u64::from(is_needed), "attribute {kind}");
        assert_eq!(answer.records.len(), all - usize::from(is_needed));
        at += length.next_multiple_of(4);
    }
    assert_eq!(needed, 3);
}

/// mlx5 gives the type of a DCI twice (once as it is, once as a queue pair of the driver's) and its kind.
#[test]
fn a_type_that_comes_twice_counts_as_the_driver_says() {
    let mut whole = queue_pairs();
    let entry = [5, 0, 26, 0, 0xff, 0, 0, 0, 8, 0, 98, 0, b'D', b'C', b'I', 0];
    // Into the last entry, which goes to the end of its message.
    let last = take::<QpRecord>(&whole).records.len() - 1;
    let lengths = [(0, 4), (32, 2), (last_entry(&whole), 2)];
    whole.extend(entry);
    for (place, size) in lengths {
        let mut length = [0; 4];
        length[..size].copy_from_slice(&whole[place..place + size]);
        let longer = u32::from_ne_bytes(length) + entry.len() as u32;
        whole[place..place + size].copy_from_slice(&longer.to_ne_bytes()[..size]);
    }
    let answer = take::<QpRecord>(&whole);
    assert_eq!((answer.losses, answer.records.len()), (Losses::default(), last + 1));
    let record = &answer.records[last];
    assert_eq!((record.qp_type.name(), record.subtype.as_deref()), ("DRIVER", Some("DCI")));
}

/// Place of the last entry of a table.
fn last_entry(datagram: &[u8]) -> usize {
    let mut at = 36;
    loop {
        let length = usize::from(u16::from_ne_bytes([datagram[at], datagram[at + 1]]));
        if at + length >= datagram.len() {
            return at;
        }
        at += length;
    }
}

proptest! {
    #[test]
    fn no_datagram_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        length in any::<prop::sample::Index>(),
    ) {
        for name in ["linux-6.12/states", "linux-6.1/err", "linux-6.12/gone"] {
            for (_, answers) in Recording::open(name).0 {
                for mut datagram in answers {
                    for (place, byte) in &changes {
                        let place = place.index(datagram.len());
                        datagram[place] = *byte;
                    }
                    datagram.truncate(length.index(datagram.len() + 1));
                    prop_assert!(take::<QpRecord>(&datagram).records.len() <= 50);
                    take::<PortRecord>(&datagram);
                    take::<DeviceRecord>(&datagram);
                }
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        take::<QpRecord>(&bytes);
        take::<PortRecord>(&bytes);
        take::<DeviceRecord>(&bytes);
    }
}
