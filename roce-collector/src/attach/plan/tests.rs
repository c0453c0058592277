use super::*;
use crate::attach::testing::link;
use crate::attach::{AttachedXdp, XdpMode};

const FULL: KernelFacts = KernelFacts { xdp_frags: true, tcx: true };

/// A plan in short: `mode program` for what is tried, `-mode` for what is not.
fn short(steps: &[Step]) -> Vec<String> {
    let one = |step: &Step| match step {
        Step::Try { mode, program, .. } => format!("{mode} {}", program.name()),
        Step::Skip { mode, .. } => format!("-{mode}"),
    };
    steps.iter().map(one).collect()
}

fn reasons(steps: &[Step]) -> String {
    let reason = |step: &Step| match step {
        Step::Skip { reason, .. } => Some(reason.clone()),
        Step::Try { .. } => None,
    };
    steps.iter().filter_map(reason).collect::<Vec<_>>().join("\n")
}

fn on_driver(driver: &str) -> LinkFacts {
    LinkFacts { driver: Some(driver.to_owned()), ..link(2, "eth0") }
}

#[test]
fn auto_prefers_native_xdp_then_tc_then_generic_xdp() {
    let steps = plan(&link(2, "eth0"), Direction::Ingress, HookChoice::Auto, FULL);
    let expected = [
        "native roce_xdp_frags",
        "native roce_xdp",
        "tcx roce_tc_ingress",
        "clsact roce_tc_ingress",
        "generic roce_xdp_frags",
        "generic roce_xdp",
    ];
    assert_eq!(short(&steps), expected);
}

#[test]
fn egress_is_always_tc() {
    let expected = ["tcx roce_tc_egress", "clsact roce_tc_egress"];
    for choice in [HookChoice::Auto, HookChoice::Tc] {
        let steps = plan(&on_driver("mlx5_core"), Direction::Egress, choice, FULL);
        assert_eq!(short(&steps), expected);
    }
    let steps = plan(&link(2, "eth0"), Direction::Egress, HookChoice::Xdp, FULL);
    assert_eq!(short(&steps), ["-native", expected[0], expected[1]]);
    assert_eq!(reasons(&steps), "XDP sees received frames only");
    assert!(is_impossible(HookChoice::XdpGeneric, &[Direction::Egress]));
    assert!(!is_impossible(HookChoice::Xdp, &[Direction::Ingress, Direction::Egress]));
    assert!(!is_impossible(HookChoice::Auto, &[Direction::Egress]));
}

#[test]
fn case_c97_auto_does_not_restart_the_queues_of_a_live_port() {
    for driver in ["mlx5_core", "bnxt_en", "ice"] {
        let steps = plan(&on_driver(driver), Direction::Ingress, HookChoice::Auto, FULL);
        assert_eq!(short(&steps)[..2], ["-native", "tcx roce_tc_ingress"], "{driver}");
        assert_eq!(
            reasons(&steps),
            format!(
                "native XDP on {driver} restarts its receive queues and interrupts traffic; ask for \
                 it with --hook xdp"
            )
        );
    }
    let asked = plan(&on_driver("mlx5_core"), Direction::Ingress, HookChoice::Xdp, FULL);
    assert_eq!(short(&asked), ["native roce_xdp_frags", "native roce_xdp"]);
    let Step::Try { note: Some(note), .. } = &asked[0] else { panic!("{asked:?}") };
    assert!(note.contains("mlx5_core restarted"), "{note}");
}

#[test]
fn another_xdp_program_is_left_alone() {
    let mut taken = link(2, "eth0");
    taken.xdp = vec![AttachedXdp { mode: XdpMode::Native, program: 42 }];
    let steps = plan(&taken, Direction::Ingress, HookChoice::Auto, FULL);
    let expected = ["-native", "tcx roce_tc_ingress", "clsact roce_tc_ingress", "-generic"];
    assert_eq!(short(&steps), expected);
    assert!(reasons(&steps).contains("id 42 in native mode"), "{}", reasons(&steps));
    for (choice, row) in [(HookChoice::Xdp, "-native"), (HookChoice::XdpGeneric, "-generic")] {
        assert_eq!(short(&plan(&taken, Direction::Ingress, choice, FULL)), [row]);
    }
}

#[test]
fn what_the_kernel_lacks_is_not_tried_again() {
    let old = KernelFacts { xdp_frags: false, tcx: false };
    let steps = plan(&link(2, "eth0"), Direction::Ingress, HookChoice::Auto, old);
    let expected = ["native roce_xdp", "clsact roce_tc_ingress", "generic roce_xdp"];
    assert_eq!(short(&steps), expected);
    let Step::Try { note: Some(note), .. } = &steps[0] else { panic!("{steps:?}") };
    assert!(note.contains("may not be seen"), "{note}");
}
