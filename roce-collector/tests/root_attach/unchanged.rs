//! Observing changes no frame and stops none.

use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use roce_collector::attach::{HookChoice, KernelFacts};
use roce_testkit::replay::replay;
use roce_testkit::scenario;
use roce_testkit::send::Pace;

use super::hooks::udp_payload;
use super::lab::{Lab, Tap, Wish, address, write};
use super::sniffer::Sniffer;

/// Every hook, with the kernel facts that lead to it.
const WAYS: [(HookChoice, bool); 4] = [
    (HookChoice::Xdp, true),
    (HookChoice::XdpGeneric, true),
    (HookChoice::Tc, true),
    (HookChoice::Tc, false),
];

fn attach(hook: HookChoice, tcx: bool) -> Tap {
    let kernel = KernelFacts { xdp_frags: true, tcx };
    Tap::attach_with(Wish::both(hook), kernel, Path::new("/sys")).unwrap()
}

/// Sends `frames` and gives what the right end hands to its network stack.
fn received(lab: &Lab, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let index = lab.ip("-o link show right0");
    let index = index.split(':').next().unwrap().parse().unwrap();
    let sniffer = Sniffer::open(index).unwrap();
    replay(&lab.left, "left0", frames, Pace::FramesPerSecond(50_000)).unwrap();
    sniffer.receive(frames.len())
}

#[test]
fn root_the_stack_gets_the_same_bytes_as_without_a_program() {
    let scenario = scenario::Scenario::together("all", scenario::all());
    let mut frames: Vec<Vec<u8>> =
        scenario.frames.iter().map(|frame| AsRef::<[u8]>::as_ref(frame).to_vec()).collect();
    frames.extend((0..50).map(|psn| write(psn, 8900).build()));
    // Cut in the middle of every header, and nothing known at all.
    frames.extend((15..60).map(|length| write(0, 64).build()[..length].to_vec()));
    frames.push([0xff; 100].to_vec());
    let lab = Lab::new(9000);
    let run = lab.right.run(|| {
        let untouched = received(&lab, &frames);
        // The kernel takes VLAN tags out of the frame; all others are as they were sent.
        let as_sent = frames.iter().zip(&untouched).filter(|(sent, got)| sent == got).count();
        assert!(as_sent > frames.len() * 9 / 10, "{as_sent} of {}", frames.len());
        for (hook, tcx) in WAYS {
            let tap = attach(hook, tcx);
            let seen = received(&lab, &frames);
            let changed = untouched.iter().zip(&seen).position(|(before, now)| before != now);
            assert_eq!(changed, None, "{hook:?}");
            assert!(tap.packets(0) >= scenario.truth.totals().packets, "{}", tap.table());
        }
    });
    run.unwrap();
}

#[test]
fn root_sockets_of_both_ends_talk_through_every_hook() {
    for (hook, tcx) in WAYS {
        let lab = Lab::new(9000);
        let payload = |psn| udp_payload(&write(psn, 4096).build()).to_vec();
        let right = lab.right.run(|| {
            let tap = attach(hook, tcx);
            let server = UdpSocket::bind((address(2), 4791)).unwrap();
            server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let client = lab.left.run(|| UdpSocket::bind((address(1), 4791)).unwrap()).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut buffer = [0; 9000];
            for psn in 0..100 {
                client.send_to(&payload(psn), (address(2), 4791)).unwrap();
                let (length, peer) = server.recv_from(&mut buffer).unwrap();
                assert_eq!(buffer[..length], payload(psn), "{hook:?}");
                server.send_to(&buffer[..length], peer).unwrap();
                let (length, _) = client.recv_from(&mut buffer).unwrap();
                assert_eq!(buffer[..length], payload(psn), "{hook:?}");
            }
            tap.expect_packets(0, 100);
            tap.expect_packets(1, 100);
        });
        right.unwrap();
    }
}
