//! The names of verdicts.

use serde::{Deserialize, Serialize};

macro_rules! verdicts {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// What is said to be the cause. The ids are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Verdict {
            $($(#[$doc])* $name,)*
        }

        impl Verdict {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its stable name.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

verdicts! {
    /// Requests do not reach the responder.
    ForwardBlackHole = "forward_black_hole",
    /// Requests arrive; their answers do not come back.
    ReverseBlackHole = "reverse_black_hole",
    /// Requests arrive where the peer is, and the peer does not answer: its QP, process or host is gone.
    PeerSilent = "peer_silent",
    /// The drops hit packets that the fabric does not treat as lossless, because of their DSCP.
    MismarkedLossyDrop = "mismarked_lossy_drop",
    /// Drops in the lossless class without a pause before: flow control does not work somewhere.
    DropWithoutPause = "drop_without_pause",
    /// Drops behind signs of congestion: CE marks and CNPs.
    CongestionLoss = "congestion_loss",
    /// Large packets do not pass, small ones do.
    MtuBlackHole = "mtu_black_hole",
    /// The receiver had no receive posted.
    ReceiverNotReady = "receiver_not_ready",
    /// The responder refused access to its memory.
    AccessError = "access_error",
    /// The host's own device refused the host's own buffer.
    ProtectionError = "protection_error",
    /// The responder could not complete the request.
    RemoteOperationError = "remote_operation_error",
    /// Packets came out of order, none was lost.
    ReorderingOnly = "reordering_only",
    /// The port was paused for most of the time.
    PauseStorm = "pause_storm",
    /// The receiving NIC or host dropped packets.
    NicReceiveDrop = "nic_receive_drop",
    /// A link went down.
    LinkFlap = "link_flap",
    /// The addresses of the port changed.
    GidChange = "gid_change",
    /// The consequence of another error that is not known.
    FlushSecondary = "flush_secondary",
    /// The connection never carried anything both ways.
    NeverConnected = "never_connected",
    /// Nothing fits, or too little is known.
    Unknown = "unknown",
}
