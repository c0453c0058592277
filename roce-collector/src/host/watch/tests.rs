//! Trees of files in the place of sysfs, made after real ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use tempfile::TempDir;

fn tree(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/sysfs").join(name)
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A device with these counters, whose GIDs belong to eth0.
fn device(counters: &[(&str, u64)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "class/infiniband/rocep1s0/ports/1/link_layer", "Ethernet\n");
    write(root.path(), "class/infiniband/rocep1s0/ports/1/gid_attrs/ndevs/1", "eth0\n");
    set(&root, counters);
    root
}

fn set(root: &TempDir, counters: &[(&str, u64)]) {
    for (file, value) in counters {
        write(
            root.path(),
            &format!("class/infiniband/rocep1s0/ports/1/{file}"),
            &value.to_string(),
        );
    }
}

fn eth0(root: &Path) -> HostWatch {
    HostWatch::new(root, &["eth0".to_owned()])
}

fn names(root: &Path, interface: &str) -> Vec<String> {
    let ports = find_ports(root, interface);
    ports.iter().map(|port| format!("{}/{}", port.device, port.port)).collect()
}

/// Counters of a real mlx5 that moved while tcpdump saw nothing.
impl HostWatch {
    fn look(&mut self, hooks: &[HookPackets]) -> HostReport {
        let counters = self.count();
        self.compare(counters, hooks)
    }
}

#[test]
fn a_bypass_is_said_in_words() {
    let real = tree("bypass/class/infiniband/mlx5_0/ports/1/hw_counters");
    let root = device(&[]);
    let copy = |factor: u64| {
        for entry in fs::read_dir(&real).unwrap() {
            let path = entry.unwrap().path();
            let value: u64 = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            set(&root, &[(&format!("hw_counters/{name}"), value / 2 * factor)]);
        }
    };
    let mut watch = eth0(root.path());
    let none = [[Some(0), None]];
    copy(0);
    assert!(watch.look(&none).blind.is_empty());
    copy(1);
    let report = watch.look(&none);
    assert_eq!((report.blind.len(), report.ratios[0]), (0, None), "one look may be chance");
    copy(2);
    let report = watch.look(&none);
    assert_eq!(report.ratios, [Some(0.0)]);
    let expected = "eth0 (rocep1s0/1): RDMA traffic bypasses the kernel on this device: hook sees 0 while \
                    hw rx_write_requests grew by 48014728; ";
    assert!(report.blind[0].starts_with(expected), "{}", report.blind[0]);

    copy(3);
    let report = watch.look(&[[Some(5), None]]);
    assert_eq!((report.blind.len(), report.ratios[0]), (0, None), "the hook woke up");
}

#[test]
fn the_ratio_compares_the_attached_directions() {
    let received = "hw_counters/rcvd_pkts";
    let sent = "hw_counters/sent_pkts";
    let root = device(&[(received, 1000), (sent, 500)]);
    let mut watch = eth0(root.path());
    watch.look(&[[Some(7), None]]);
    set(&root, &[(received, 1100), (sent, 900)]);
    assert_eq!(watch.look(&[[Some(107), None]]).ratios, [Some(1.0)]);
    set(&root, &[(received, 1200)]);
    assert_eq!(watch.look(&[[Some(107), None]]).ratios, [Some(0.5)]);

    assert_eq!(watch.look(&[[Some(107), Some(0)]]).ratios, [None], "a hook more: start again");
    set(&root, &[(received, 1300), (sent, 1000)]);
    assert_eq!(watch.look(&[[Some(207), Some(50)]]).ratios, [Some(0.75)]);
}

#[test]
fn a_hook_that_sees_next_to_nothing_is_blind_until_it_sees_more() {
    let packets = "hw_counters/rcvd_pkts";
    let root = device(&[(packets, 0)]);
    let mut watch = eth0(root.path());
    let mut look = |counted, seen| {
        set(&root, &[(packets, counted)]);
        watch.look(&[[Some(seen), None]])
    };
    look(0, 0);
    assert_eq!(look(100_000, 1).is_blind, [false], "one look may be chance");
    let report = look(200_000, 2);
    assert_eq!(report.is_blind, [true]);
    assert!(report.blind[0].contains("less than one in a hundred"), "{:?}", report.blind);
    let report = look(300_000, 90_000);
    assert_eq!((report.is_blind, report.blind.len()), (vec![false], 0));
}

#[test]
fn few_packets_and_counters_that_were_reset_say_nothing() {
    let packets = "counters/port_rcv_packets";
    let root = device(&[(packets, 1000)]);
    let mut watch = eth0(root.path());
    for (counted, seen) in [(1000, 0), (1003, 0), (10, 0), (10, 0)] {
        set(&root, &[(packets, counted)]);
        assert_eq!(watch.look(&[[Some(seen), None]]).ratios, [None], "{counted}");
    }
}

#[test]
fn an_idle_or_unattached_port_is_not_blind() {
    let requests = "hw_counters/rx_write_requests";
    let root = device(&[(requests, 5)]);
    let mut watch = eth0(root.path());
    for _ in 0..4 {
        assert!(watch.look(&[[Some(0), None]]).blind.is_empty());
    }
    for value in 6..10 {
        set(&root, &[(requests, value)]);
        let report = watch.look(&[[None, None]]);
        assert_eq!((report.blind.len(), report.ratios[0]), (0, None), "nobody looks");
    }
}

/// Eight InfiniBand ports and an Ethernet bond in one host.
#[test]
fn infiniband_ports_are_left_alone() {
    let root = tree("gpud");
    assert_eq!(names(&root, "bond0"), ["mlx5_bond_0/1"]);
    assert!(names(&root, "ib0").is_empty());
    assert!(!PortCounters::read(&find_ports(&root, "bond0")).eq(&PortCounters::default()));
}

/// Several families, a link layer with an empty line behind it, folders that are not there.
#[test]
fn odd_trees_are_read_as_far_as_they_go() {
    let root = tree("procfs");
    let all = ["hfi1_0/1", "mlx4_0/1", "mlx4_0/2", "mlx5_0/1"];
    let copy = tempfile::tempdir().unwrap();
    for port in all {
        let (device, number) = port.split_once('/').unwrap();
        let folder = format!("class/infiniband/{device}/ports/{number}");
        let text = fs::read_to_string(root.join(&folder).join("link_layer")).unwrap();
        assert!(text.trim_end().len() < text.len(), "the line end is part of the case");
        let text = text.replace("InfiniBand", "Ethernet");
        write(copy.path(), &format!("{folder}/link_layer"), &text);
        write(copy.path(), &format!("{folder}/gid_attrs/ndevs/0"), "eth0\n");
    }
    assert!(names(&root, "eth0").is_empty(), "InfiniBand");
    assert_eq!(names(copy.path(), "eth0"), all);
    // No folder with counters: as on irdma and old bnxt_re.
    let mut watch = eth0(copy.path());
    for _ in 0..3 {
        let report = watch.look(&[[Some(0), None]]);
        assert_eq!((report.blind.len(), report.ratios[0]), (0, None));
    }
}

/// A GID table whose free entries cannot be read.
#[test]
fn free_entries_of_a_gid_table_are_skipped() {
    let root = device(&[]);
    for free in [0, 2, 3] {
        let entry = format!("class/infiniband/rocep1s0/ports/1/gid_attrs/ndevs/{free}");
        fs::create_dir_all(root.path().join(entry)).unwrap();
    }
    write(root.path(), "class/infiniband/rocep1s0/ports/1/gid_attrs/ndevs/5", "eth0.100\n");
    assert_eq!(names(root.path(), "eth0"), ["rocep1s0/1"]);
    assert_eq!(names(root.path(), "eth0.100"), ["rocep1s0/1"]);
    assert!(names(root.path(), "eth1").is_empty());
    for bad in ["", "..", "../../etc"] {
        assert!(names(root.path(), bad).is_empty(), "{bad:?}");
    }
}

#[test]
fn of_two_ports_of_a_pci_device_the_interface_has_one() {
    let root = tempfile::tempdir().unwrap();
    for port in [1, 2] {
        let file = format!("class/infiniband/mlx4_0/ports/{port}/link_layer");
        write(root.path(), &file, "Ethernet\n");
    }
    write(root.path(), "class/net/ens1d1/device/infiniband/mlx4_0/node_type", "1: CA\n");
    write(root.path(), "class/net/ens1d1/dev_port", "1\n");
    assert_eq!(names(root.path(), "ens1d1"), ["mlx4_0/2"]);
}
