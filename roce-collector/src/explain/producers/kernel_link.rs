//! Links that go down and up, as drivers of RoCE devices say it in the kernel's log.

use super::Found;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::text::{after, find_ignoring_case, word};

/// `mlx5_core 0000:01:00.0 ens1f0np0: Link down`, `bnxt_en 0000:01:00.0 eth2: NIC Link is Down`.
pub(super) fn parse(message: &str) -> Option<Found> {
    let (producer, rest) = [
        (Producer::Mlx5Kernel, "mlx5_core "),
        (Producer::Bnxt, "bnxt_en "),
        (Producer::Other, "ice "),
        (Producer::Other, "ionic "),
    ]
    .into_iter()
    .find_map(|(producer, driver)| Some((producer, after(message, driver)?)))?;
    let has = |words: [&str; 2]| words.iter().any(|it| find_ignoring_case(rest, it).is_some());
    let mut record = ErrorRecord::new(producer);
    record.event = Some(if has(["Link down", "Link is down"]) {
        Event::link_down()
    } else if has(["Link up", "Link is up"]) {
        Event::link_up()
    } else {
        return None;
    });
    // The PCI address, then the interface.
    let interface = rest.split_whitespace().nth(1).map(word)?;
    record.device = interface.strip_suffix(':').map(str::to_owned);
    Some(Found::whole(record))
}
