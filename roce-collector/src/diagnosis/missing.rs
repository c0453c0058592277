//! What rules miss, each in one wording, so that it is asked for once.

/// Nobody saw the packets.
pub(super) const PACKETS: &str = "packets of this queue pair";
/// Acknowledgements were cut before their AETH, and no status is known.
pub(super) const NAK_CODES: &str = "the NAK codes (frames of at least 62 bytes), or the status";
/// Flushes are a consequence.
pub(super) const FIRST_ERROR: &str = "the first error, here or at the peer";
/// One tap does not know the other end.
pub(super) const OTHER_END: &str = "packets or counters at the other end (duplicate_request)";
/// Events that logs and `--facts` may have.
pub(super) const LINK_EVENTS: &str = "link events of both ports";
/// Likewise.
pub(super) const GID_TABLES: &str = "GID tables of both ports";
/// Counters of both ports, see `HostFacts`.
pub(super) const PAUSE_COUNTERS: &str = "pause counters of both ports";
/// Likewise.
pub(super) const DROP_COUNTERS: &str = "receive drop counters of both ports";
/// Sizes that pass are not known, nor are the MTUs.
pub(super) const SIZES: &str = "packet sizes that pass and that do not, or the MTU of both ports";
/// Nothing to compare with.
pub(super) const RIGHT_MARKS: &str = "traffic with the right DSCP between the same hosts";
/// What goes on behind the requester's tap.
pub(super) const BEHIND_SWITCHES: &str = "packets behind the switches, where CE marks show";
/// A tap that came later cannot know.
pub(super) const BEGINNING: &str = "packets from the beginning of the connection";
