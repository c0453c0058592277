//! Next steps with the names and numbers of the case.

use std::net::IpAddr;

use super::Case;

/// One end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Requester,
    Responder,
}

impl End {
    const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
        }
    }
}

/// `on the responder 10.0.0.2`.
pub(super) fn on(case: &Case, end: End) -> String {
    address(case, end).map_or_else(
        || format!("on the {}", end.name()),
        |address| format!("on the {} {address}", end.name()),
    )
}

/// Hardware counters of the RDMA port.
pub(super) fn rdma_counters(case: &Case, end: End, look_for: &str) -> String {
    let device = device(case, end);
    format!("{}: rdma statistic show link {device}/1, look at {look_for}", on(case, end))
}

/// Statistics of the network port.
pub(super) fn ethtool(case: &Case, end: End, pattern: &str) -> String {
    let interface = interface(case, end);
    format!("{}: ethtool -S {interface} | grep -E '{pattern}'", on(case, end))
}

/// What is set up for pause and DSCP.
pub(super) fn qos(case: &Case, end: End) -> String {
    let interface = interface(case, end);
    format!(
        "{}: dcb pfc show dev {interface}; dcb app show dev {interface}; on mlx5 mlnx_qos -i {interface}",
        on(case, end)
    )
}

/// The link and its MTU.
pub(super) fn link(case: &Case, end: End) -> String {
    let interface = interface(case, end);
    let device = device(case, end);
    format!("{}: ip -s link show dev {interface}; rdma link show {device}/1", on(case, end))
}

/// GIDs of the port.
pub(super) fn gids(case: &Case, end: End) -> String {
    let device = device(case, end);
    format!("{}: grep . /sys/class/infiniband/{device}/ports/1/gids/*", on(case, end))
}

/// The queue pair as the kernel lists it.
pub(super) fn queue_pair(case: &Case, end: End) -> String {
    let device = device(case, end);
    let number = qp(case, end).map_or_else(String::new, |qp| format!(" lqpn {qp}"));
    format!("{}: rdma resource show qp link {device}/1{number}", on(case, end))
}

/// The packets as the other end has them.
pub(super) fn look(case: &Case, end: End) -> String {
    let qp = qp(case, end).map_or_else(|| "<QP>".to_owned(), |qp| format!("{qp:#x}"));
    let other = match end {
        End::Requester => End::Responder,
        End::Responder => End::Requester,
    };
    let peer = address(case, other).map_or_else(String::new, |ip| format!(" --peer {ip}"));
    format!(
        "{}, or on a port that mirrors its: roce-trace live --qp {qp}{peer}; of a capture file: \
         roce-trace read FILE --qp {qp}{peer}",
        on(case, end)
    )
}

/// Whether large packets pass.
pub(super) fn ping(case: &Case, payload: u32) -> String {
    // A ping of the same size: ICMP has 8 bytes where RoCEv2 has UDP, BTH, RETH and ICRC with 40.
    let peer = case.failure.peer_ip;
    let size = payload + 32;
    let option = if matches!(peer, Some(IpAddr::V6(_))) { "-6 " } else { "" };
    let peer = peer.map_or_else(|| "<peer>".to_owned(), |ip| ip.to_string());
    format!("{}: ping {option}-M do -c 3 -s {size} {peer}", on(case, End::Requester))
}

fn address(case: &Case, end: End) -> Option<IpAddr> {
    match end {
        End::Requester => case.failure.local_ip,
        End::Responder => case.failure.peer_ip,
    }
}

fn qp(case: &Case, end: End) -> Option<u32> {
    match end {
        End::Requester => case.failure.local_qp,
        End::Responder => case.failure.peer_qp,
    }
}

/// The failure names devices of the requester's host alone.
fn device(case: &Case, end: End) -> &str {
    let device = case.failure.device.as_deref().filter(|_| end == End::Requester);
    device.unwrap_or("<rdma device>")
}

fn interface(case: &Case, end: End) -> &str {
    let interface = case.failure.interface.as_deref().filter(|_| end == End::Requester);
    interface.unwrap_or("<interface>")
}
