//! What the fields of a record say about configuration, and what to do.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use serde::Serialize;

use super::record::ErrorRecord;
use super::status::WcStatus;

/// An observation, with advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name.
    pub id: &'static str,
    /// For people.
    pub text: Cow<'static, str>,
}

const fn finding(id: &'static str, text: &'static str) -> Finding {
    Finding { id, text: Cow::Borrowed(text) }
}

const TRAFFIC_CLASS_ZERO: Finding = finding(
    "traffic_class_zero",
    "traffic class 0: not in the lossless class, and not ECN-capable. Choose the fabric's (NCCL_IB_TC, \
           UCX_IB_TRAFFIC_CLASS), 106 for DSCP 26 with ECT(0)",
);
const NOT_ECN_CAPABLE: Finding = finding(
    "not_ecn_capable",
    "the traffic class has no ECT bit: switches drop these packets where they would mark others",
);
const CONFIGURATION_LOOKS_RIGHT: Finding =
    finding("configuration_looks_right", "GID and DSCP look right: look at the fabric");
const NOTHING_COMPLETED: Finding =
    finding("nothing_completed", "nothing ever completed: connectivity, GID or MTU, not load");
const RECHECK_GID: Finding =
    finding("recheck_gid_index", "validate the GID index again: the entry may have moved");
const LINK_PRECEDES_ERROR: Finding = finding(
    "link_precedes_error",
    "a link problem that precedes later errors with status 12 on this port",
);

impl ErrorRecord {
    /// What its fields say about configuration.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let gid = self.peer.gid;
        let is_link_local = gid.is_some_and(|gid| gid.is_unicast_link_local());
        if is_link_local {
            findings.push(link_local(self.local.gid_index));
        }
        match self.traffic_class {
            Some(0) => findings.push(TRAFFIC_CLASS_ZERO),
            Some(class) if ecn(class) == 0 => findings.push(NOT_ECN_CAPABLE),
            Some(_) if gid.is_some_and(is_routable) && self.status == Some(WcStatus::RETRY_EXC) => {
                findings.push(CONFIGURATION_LOOKS_RIGHT);
            }
            _ => {}
        }
        if self.completed == Some(0) && self.posted.is_some_and(|posted| posted > 0) {
            findings.push(NOTHING_COMPLETED);
        }
        match self.event.as_ref().map(super::Event::name) {
            Some("GID table change") => findings.push(RECHECK_GID),
            Some("port error" | "link down") => findings.push(LINK_PRECEDES_ERROR),
            _ => {}
        }
        findings
    }
}

const fn ecn(traffic_class: u8) -> u8 {
    traffic_class & 3
}

fn is_routable(gid: Ipv6Addr) -> bool {
    !gid.is_unicast_link_local() && !gid.is_unspecified()
}

fn link_local(index: Option<u32>) -> Finding {
    let index = index.map_or_else(String::new, |index| format!(" (index {index})"));
    let text = format!(
        "link-local GID{index}: it cannot be routed, and is often RoCEv1. Choose the index of the RoCEv2 GID \
         with the port's address (NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX)"
    );
    Finding { id: "gid_link_local", text: text.into() }
}
