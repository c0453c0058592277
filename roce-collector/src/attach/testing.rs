//! Facts for the tests of this module.

use super::{LinkFacts, LinkKind};

/// An interface that is up and that nothing is attached to.
pub(super) fn link(index: u32, name: &str) -> LinkFacts {
    LinkFacts {
        index,
        name: name.to_owned(),
        kind: LinkKind::Physical,
        mtu: 1500,
        is_up: true,
        master: None,
        lower: None,
        xdp: Vec::new(),
        driver: None,
        filters: Vec::new(),
    }
}
