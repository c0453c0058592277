//! Each hook counts what passes.

use std::net::UdpSocket;
use std::path::Path;

use roce_collector::attach::{HookChoice, KernelFacts};

use super::lab::{Lab, Tap, Wish, address, write};

/// The part of `frame` behind Ethernet, IPv4 and UDP.
pub(crate) fn udp_payload(frame: &[u8]) -> &[u8] {
    &frame[14 + 20 + 8..]
}

#[test]
fn root_native_xdp_counts_on_mtu_1500_and_sees_nothing_of_egress() {
    let lab = Lab::new(1500);
    let counted = lab.right.run(|| {
        let tap = Tap::attach(Wish::ingress(HookChoice::Xdp)).unwrap();
        assert_eq!(tap.modes(), "ingress native", "{}", tap.table());
        lab.send(500, 1024);
        tap.expect_packets(0, 500);
        assert_eq!(tap.packets(1), 0);
        assert!(lab.ip("-d link show right0").contains("xdp"), "ip shows no native program");
    });
    counted.unwrap();
}

#[test]
fn root_native_xdp_counts_jumbo_frames_on_mtu_9000() {
    let lab = Lab::new(9000);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::ingress(HookChoice::Auto)).unwrap();
        assert_eq!(tap.modes(), "ingress native", "{}", tap.table());
        // Multi-buffer XDP was taken: nothing was tried before it, and there is nothing to note.
        assert_eq!(tap.table().rows().len(), 1, "{}", tap.table());
        assert_eq!(tap.table().rows()[0].note, None, "{}", tap.table());
        lab.send(300, 8900);
        tap.expect_packets(0, 300);
        let bytes = write(0, 8900).build().len() as u64;
        assert!(bytes > 8900);
        assert_eq!(tap.wire_bytes(0), 300 * bytes);
        lab.send(10, 64);
        tap.expect_packets(0, 310);
    });
    run.unwrap();
}

#[test]
fn root_without_multi_buffer_xdp_a_jumbo_veth_says_so_or_falls_back() {
    let old = KernelFacts { xdp_frags: false, tcx: true };
    let lab = Lab::new(9000);
    let run = lab.right.run(|| {
        let tap =
            Tap::attach_with(Wish::ingress(HookChoice::Auto), old, Path::new("/sys")).unwrap();
        println!("{}", tap.table());
        // The veth driver refuses: its peer's MTU is too large for one buffer.
        assert_eq!(tap.modes(), "ingress tcx");
        assert!(tap.table().rows()[0].outcome.to_string().contains("MTU"), "{}", tap.table());
        lab.send(20, 8900);
        tap.expect_packets(0, 20);
    });
    run.unwrap();

    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap =
            Tap::attach_with(Wish::ingress(HookChoice::Auto), old, Path::new("/sys")).unwrap();
        assert_eq!(tap.modes(), "ingress native");
        assert!(tap.table().to_string().contains("may not be seen"), "{}", tap.table());
        lab.send(20, 1024);
        tap.expect_packets(0, 20);
    });
    run.unwrap();
}

#[test]
fn root_generic_xdp_counts_small_and_jumbo_frames() {
    let lab = Lab::new(9000);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::ingress(HookChoice::XdpGeneric)).unwrap();
        assert_eq!(tap.modes(), "ingress generic", "{}", tap.table());
        lab.send(100, 256);
        lab.send(100, 8900);
        tap.expect_packets(0, 200);
        assert!(lab.ip("-d link show right0").contains("xdpgeneric"));
    });
    run.unwrap();
}

/// Sends `count` packets by the network stack from the right end, so that they pass TC egress.
fn send_by_stack(count: u32) {
    let socket = UdpSocket::bind((address(2), 49_152)).unwrap();
    for psn in 0..count {
        let frame = write(psn, 512).ip(address(2), address(1)).build();
        socket.send_to(udp_payload(&frame), (address(1), 4791)).unwrap();
    }
}

#[test]
fn root_tc_counts_both_directions_by_tcx_and_by_clsact() {
    let kernels = [
        (KernelFacts { xdp_frags: true, tcx: true }, "ingress tcx, egress tcx"),
        (KernelFacts { xdp_frags: true, tcx: false }, "ingress clsact, egress clsact"),
    ];
    for (kernel, modes) in kernels {
        let lab = Lab::new(9000);
        let run = lab.right.run(|| {
            let wish = Wish::both(HookChoice::Tc);
            let tap = Tap::attach_with(wish, kernel, Path::new("/sys")).unwrap();
            assert_eq!(tap.modes(), modes, "{}", tap.table());
            lab.send(200, 8900);
            send_by_stack(70);
            tap.expect_packets(0, 200);
            tap.expect_packets(1, 70);
        });
        run.unwrap();
    }
}

#[test]
fn root_xdp_for_ingress_goes_with_tc_for_egress() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::both(HookChoice::Auto)).unwrap();
        assert_eq!(tap.modes(), "ingress native, egress tcx", "{}", tap.table());
        lab.send(40, 1024);
        send_by_stack(30);
        tap.expect_packets(0, 40);
        tap.expect_packets(1, 30);

        drop(tap);
        let tap = Tap::attach(Wish::both(HookChoice::Xdp)).unwrap();
        assert_eq!(tap.modes(), "ingress native, egress tcx");
        let why = "not tried: XDP sees received frames only";
        assert!(tap.table().to_string().contains(why), "{}", tap.table());
    });
    run.unwrap();
}

#[test]
fn root_taps_follow_the_order_of_the_interfaces() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::both(HookChoice::Auto).on("lo,right0")).unwrap();
        assert_eq!(tap.modes(), "ingress tcx, egress tcx, ingress native, egress tcx");
        lab.send(40, 64);
        send_by_stack(30);
        tap.expect_packets(2, 40);
        tap.expect_packets(3, 30);
        assert_eq!((tap.packets(0), tap.packets(1)), (0, 0));
    });
    run.unwrap();
}
