//! Drivers that interrupt traffic when XDP is attached to them.

/// Drivers whose native XDP attach closes and reopens the receive queues, or the whole port: frames
/// are lost meanwhile, and a peer may see the link go down. Reported for mlx5 by users of network
/// stacks (cilium issues 10958 and 13526); the others rebuild their rings in `ndo_bpf` just so.
///
/// As sysfs names them, which is the driver of the bus: `mlx4_core` for ports of `mlx4_en`. A driver
/// that is here without need costs its users some nanoseconds a packet, one that is missing a link.
const RESTARTING: [&str; 16] = [
    "atlantic",
    "bnxt_en",
    "ena",
    "gve",
    "i40e",
    "ice",
    "igb",
    "igc",
    "ionic",
    "ixgbe",
    "ixgbevf",
    "mlx4_core",
    "mlx4_en",
    "mlx5_core",
    "nfp",
    "qede",
];

/// Whether a native XDP attach to a port of `driver` interrupts its traffic.
pub fn restarts_queues(driver: &str) -> bool {
    // The ports of sub-functions are on the auxiliary bus, with drivers such as `mlx5_core.sf`.
    let module = driver.split('.').next().unwrap_or(driver);
    RESTARTING.binary_search(&module).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_names_the_rdma_drivers() {
        assert!(RESTARTING.is_sorted());
        for driver in [
            "mlx5_core",
            "mlx4_en",
            "bnxt_en",
            "ice",
            "i40e",
            "ixgbe",
            "ena",
            "ionic",
            "mlx5_core.sf",
        ] {
            assert!(restarts_queues(driver), "{driver}");
        }
        for driver in ["veth", "virtio_net", "lo", ""] {
            assert!(!restarts_queues(driver), "{driver}");
        }
    }
}
