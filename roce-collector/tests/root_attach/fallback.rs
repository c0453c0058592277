//! What is taken instead, and the reason given.

use std::fs;
use std::os::unix::fs::symlink;

use roce_collector::attach::{HookChoice, KernelFacts, Outcome};

use super::lab::{Lab, Tap, Wish};

#[test]
fn root_loopback_falls_back_to_tc_and_says_why() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::both(HookChoice::Auto).on("lo")).unwrap();
        assert_eq!(tap.modes(), "ingress tcx, egress tcx");
        println!("{}", tap.table());
        let first = &tap.table().rows()[0].outcome;
        assert_eq!(*first, Outcome::FellBack("the driver does not support it".to_owned()));
        // Native XDP was tried with both programs, and is said once.
        assert_eq!(tap.table().rows().len(), 3);
    });
    run.unwrap();
}

#[test]
fn root_another_xdp_program_is_left_alone() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let other = Tap::attach(Wish::ingress(HookChoice::Xdp)).unwrap();
        let program = other.links().named("right0").unwrap().xdp[0].program;

        let tap = Tap::attach(Wish::ingress(HookChoice::Auto)).unwrap();
        assert_eq!(tap.modes(), "ingress tcx", "{}", tap.table());
        let reason = format!("another XDP program, id {program} in native mode");
        assert!(tap.table().to_string().contains(&reason), "{}", tap.table());
        for hook in [HookChoice::Xdp, HookChoice::XdpGeneric] {
            let refused = Tap::attach(Wish::ingress(hook)).err().unwrap().to_string();
            assert!(refused.contains(&reason), "{refused}");
            assert!(refused.contains("--hook auto takes what is possible"), "{refused}");
        }
        // Both see every packet, and the other program is still the one that is attached.
        lab.send(50, 512);
        tap.expect_packets(0, 50);
        other.expect_packets(0, 50);
        assert_eq!(tap.links().named("right0").unwrap().xdp[0].program, program);
    });
    run.unwrap();
}

#[test]
fn root_case_c97_drivers_that_restart_their_queues_get_tc() {
    let sysfs = tempfile::tempdir().unwrap();
    let device = sysfs.path().join("class/net/right0/device");
    fs::create_dir_all(&device).unwrap();
    symlink("../../../../bus/pci/drivers/mlx5_core", device.join("driver")).unwrap();
    let lab = Lab::new(1500);
    let kernel = KernelFacts::default();
    let run = lab.right.run(|| {
        let wish = Wish::ingress(HookChoice::Auto);
        let tap = Tap::attach_with(wish, kernel, sysfs.path()).unwrap();
        assert_eq!(tap.modes(), "ingress tcx");
        let row = "not tried: native XDP on mlx5_core restarts its receive queues and interrupts \
                   traffic; ask for it with --hook xdp";
        assert!(tap.table().to_string().contains(row), "{}", tap.table());
        drop(tap);
        let asked = Wish::ingress(HookChoice::Xdp);
        let tap = Tap::attach_with(asked, kernel, sysfs.path()).unwrap();
        assert_eq!(tap.modes(), "ingress native");
    });
    run.unwrap();
}

#[test]
fn root_an_interface_that_is_down_is_attached_and_said() {
    let lab = Lab::new(1500);
    lab.ip("link set right0 down");
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::both(HookChoice::Auto)).unwrap();
        assert_eq!(tap.modes(), "ingress native, egress tcx", "{}", tap.table());
        assert!(tap.table().rows().iter().all(|row| {
            row.note.as_deref().is_some_and(|note| note.contains("the interface is down"))
        }));
        lab.ip("link set right0 up");
        lab.ip("neigh replace 192.0.2.1 lladdr 02:00:00:00:ff:01 nud permanent dev right0");
        lab.send(25, 512);
        tap.expect_packets(0, 25);
    });
    run.unwrap();
}
