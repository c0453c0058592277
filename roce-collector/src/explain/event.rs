//! What lines tell that are not failed work completions.

use super::meaning::Cause;
use super::record::Severity;
use super::text;

/// Something that happened to a port, a device, a QP or a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    kind: &'static Kind,
    code: Option<u32>,
}

/// One kind of event.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    /// What libibverbs prints for it, or this project's own word.
    name: &'static str,
    severity: Severity,
    cause: Option<Cause>,
    meaning: &'static str,
}

const fn kind(
    name: &'static str,
    severity: Severity,
    cause: Option<Cause>,
    meaning: &'static str,
) -> Kind {
    Kind { name, severity, cause, meaning }
}

const NO_HARM: &str = "Part of normal work.";

/// `enum ibv_event_type`, with the words of `ibv_event_type_str`.
static VERBS: [Kind; 20] = [
    kind(
        "CQ error",
        Severity::Error,
        None,
        "A completion queue overran: the application polls too slowly, or it is too small.",
    ),
    kind(
        "local work queue catastrophic error",
        Severity::Error,
        None,
        "The QP died, and the device does not say why: look for the failed completion.",
    ),
    kind(
        "invalid request local work queue error",
        Severity::Error,
        None,
        "The QP died: the device refused a request on this host, not the network.",
    ),
    kind(
        "local access violation work queue error",
        Severity::Error,
        Some(Cause::AccessError),
        "The QP died: the peer asked for memory that it may not use. Not the network.",
    ),
    kind("communication established", Severity::Info, None, NO_HARM),
    kind("send queue drained", Severity::Info, None, NO_HARM),
    kind("path migrated", Severity::Info, None, "The connection moved to its alternate path."),
    kind(
        "path migration request error",
        Severity::Info,
        None,
        "The connection could not move to its alternate path.",
    ),
    kind(
        "local catastrophic error",
        Severity::Error,
        None,
        "The device died. Every QP on it is lost.",
    ),
    kind(
        "port active",
        Severity::Info,
        None,
        "The link is up again. Connections may have died in between.",
    ),
    kind(
        "port error",
        Severity::Info,
        Some(Cause::LinkFlap),
        "The link went down. Retries that run out in the next seconds or minutes come from it.",
    ),
    kind("LID change", Severity::Info, None, "The port's LID changed: InfiniBand only."),
    kind("P_Key change", Severity::Info, None, "The partition table changed."),
    kind("SM change", Severity::Info, None, "The subnet manager changed: InfiniBand only."),
    kind("SRQ catastrophic error", Severity::Error, None, "A shared receive queue died."),
    kind(
        "SRQ limit reached",
        Severity::Info,
        None,
        "A shared receive queue runs low: RNR NAKs may follow.",
    ),
    kind("last WQE reached", Severity::Info, None, NO_HARM),
    kind(
        "client reregistration",
        Severity::Info,
        None,
        "The subnet manager asks clients to register again.",
    ),
    kind(
        "GID table change",
        Severity::Info,
        Some(Cause::GidChange),
        "Addresses of the port changed. A QP keeps the GID it was made with: check the GID index again.",
    ),
    kind("WQ fatal", Severity::Error, None, "A work queue died."),
];

static UNKNOWN_VERBS: Kind =
    kind("unknown event", Severity::Info, None, "An event without a public meaning.");
static QP_ERROR: Kind = kind(
    "qp_error",
    Severity::Error,
    None,
    "The driver moved the QP to the error state. The completion that failed says why.",
);
static ICRC_ERROR: Kind = kind(
    "icrc_error",
    Severity::Error,
    None,
    "Packets arrived with a wrong ICRC and were dropped: damage on the way, or two implementations that do \
     not agree. Not a verdict about retries.",
);
static LNET_TIMEOUT: Kind = kind(
    "lnet_timeout",
    Severity::Error,
    None,
    "LNet gave up waiting for a transmit to complete. It does not say which work completion failed, if any.",
);
static ERROR_CQE: Kind = kind(
    "error_cqe",
    Severity::Error,
    None,
    "The driver found a failed completion; the lines with its fields are missing.",
);
static LINK_DOWN: Kind = kind(
    "link down",
    Severity::Info,
    Some(Cause::LinkFlap),
    "The link went down. Retries that run out in the next seconds or minutes come from it.",
);
static LINK_UP: Kind = kind(
    "link up",
    Severity::Info,
    None,
    "The link is up again. Connections may have died in between.",
);
static CONNECTION_ERROR: Kind = kind(
    "connection_error",
    Severity::Error,
    None,
    "A connection failed, was refused or timed out; no status of a work completion is given.",
);
static RECOVERY: Kind =
    kind("recovery", Severity::Info, None, "The connection is being made again, or was.");
static REQUEST_TIMEOUT: Kind = kind(
    "request_timeout",
    Severity::Error,
    None,
    "A request was not answered in time: its work may still be retried, or the peer does not answer.",
);
static PORT_MODULE: Kind = kind(
    "port_module",
    Severity::Info,
    None,
    "The cable or transceiver of a port reports something: what, is in the line.",
);
static PCIE_POWER: Kind = kind(
    "pcie_power",
    Severity::Info,
    None,
    "The slot gives the device less power than it wants: it may run slower.",
);
static COMMAND_FAILED: Kind = kind(
    "qp_command_failed",
    Severity::Error,
    None,
    "The device refused a command on a QP. The syndrome is the firmware's own.",
);

impl Event {
    /// An event of the verbs API by the words that were printed, and its number if that was printed too.
    pub(super) fn verbs(words: &str, code: Option<u32>) -> Self {
        let words = words.trim();
        let by_words = VERBS.iter().position(|kind| kind.name.eq_ignore_ascii_case(words));
        let index =
            by_words.or(code.map(|code| code as usize)).filter(|index| *index < VERBS.len());
        match index {
            Some(index) => Self { kind: &VERBS[index], code: Some(index as u32) },
            None => Self { kind: &UNKNOWN_VERBS, code },
        }
    }

    /// The event of the verbs API that `text` begins with, whatever follows it.
    pub(super) fn verbs_at_start(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let fits = |kind: &Kind| text::find_ignoring_case(text, kind.name) == Some(0);
        VERBS.iter().position(fits).map(|index| Self::verbs(VERBS[index].name, None))
    }

    /// A QP moved to the error state.
    pub(super) const fn qp_error() -> Self {
        Self { kind: &QP_ERROR, code: None }
    }

    /// Packets with a wrong ICRC.
    pub(super) const fn icrc_error() -> Self {
        Self { kind: &ICRC_ERROR, code: None }
    }

    /// LNet's own timeout.
    pub(super) const fn lnet_timeout() -> Self {
        Self { kind: &LNET_TIMEOUT, code: None }
    }

    /// A failed completion without its fields.
    pub(super) const fn error_cqe() -> Self {
        Self { kind: &ERROR_CQE, code: None }
    }

    /// Carrier lost.
    pub(super) const fn link_down() -> Self {
        Self { kind: &LINK_DOWN, code: None }
    }

    /// Carrier found.
    pub(super) const fn link_up() -> Self {
        Self { kind: &LINK_UP, code: None }
    }

    /// A connection that failed.
    pub(super) const fn connection_error() -> Self {
        Self { kind: &CONNECTION_ERROR, code: None }
    }

    /// Reconnecting.
    pub(super) const fn recovery() -> Self {
        Self { kind: &RECOVERY, code: None }
    }

    /// A request of a storage protocol without an answer.
    pub(super) const fn request_timeout() -> Self {
        Self { kind: &REQUEST_TIMEOUT, code: None }
    }

    /// What a cable or transceiver reports.
    pub(super) const fn port_module() -> Self {
        Self { kind: &PORT_MODULE, code: None }
    }

    /// Too little power from the slot.
    pub(super) const fn pcie_power() -> Self {
        Self { kind: &PCIE_POWER, code: None }
    }

    /// A command of the firmware that failed.
    pub(super) const fn command_failed(syndrome: Option<u32>) -> Self {
        Self { kind: &COMMAND_FAILED, code: syndrome }
    }

    /// Its name: what libibverbs prints for an event of the verbs API.
    pub const fn name(&self) -> &'static str {
        self.kind.name
    }

    /// `enum ibv_event_type`, or a number of the producer's own.
    pub const fn code(&self) -> Option<u32> {
        self.code
    }

    /// How much it matters.
    pub const fn severity(&self) -> Severity {
        self.kind.severity
    }

    /// The verdict that it is evidence for.
    pub const fn cause(&self) -> Option<Cause> {
        self.kind.cause
    }

    /// What it means, in words for people.
    pub const fn meaning(&self) -> &'static str {
        self.kind.meaning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_words_by_number_and_unknown() {
        let event = Event::verbs("port error", Some(10));
        assert_eq!((event.name(), event.code()), ("port error", Some(10)));
        assert_eq!(event.cause(), Some(Cause::LinkFlap));
        assert_eq!(Event::verbs("", Some(18)).name(), "GID table change");
        assert_eq!(Event::verbs("GID table change", None).code(), Some(18));
        let unknown = Event::verbs("something new", Some(99));
        assert_eq!((unknown.name(), unknown.code()), ("unknown event", Some(99)));
    }

    #[test]
    fn words_with_a_tail() {
        let event = Event::verbs_at_start(" GID table change on port 1").unwrap();
        assert_eq!(event.code(), Some(18));
        assert!(Event::verbs_at_start("no such thing").is_none());
    }
}
