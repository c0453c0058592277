//! What cannot be had is an error with one clear line.

use std::path::Path;

use caps::{CapSet, Capability};
use roce_collector::attach::{AttachError, DirectionChoice, HookChoice, KernelFacts};
use roce_collector::bpf::{AttachRequest, Attachments, Datapath, check};
use tokio::runtime::Builder;

use super::lab::{Lab, Tap, Wish, options};

fn refusal(wish: Wish<'_>) -> String {
    Tap::attach(wish).err().unwrap().to_string()
}

#[test]
fn root_a_missing_interface_lists_the_existing_ones() {
    let lab = Lab::new(1500);
    let message = lab.right.run(|| refusal(Wish::both(HookChoice::Auto).on("eth9"))).unwrap();
    assert!(message.starts_with("there is no interface eth9; there are: lo, "), "{message}");
    assert!(message.contains("right0"), "{message}");
}

#[test]
fn root_an_explicit_hook_that_cannot_be_had_is_refused_as_a_whole() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let message = refusal(Wish::both(HookChoice::Xdp).on("lo"));
        assert!(message.contains("cannot attach to lo for ingress with --hook xdp"), "{message}");
        assert!(message.contains("failed: the driver does not support it"), "{message}");

        let mut egress = Wish::both(HookChoice::XdpGeneric);
        egress.direction = DirectionChoice::Egress;
        let error = Tap::attach(egress).err().unwrap();
        assert!(matches!(error, AttachError::EgressByXdp(HookChoice::XdpGeneric)), "{error}");

        let links = Tap::attach(Wish::ingress(HookChoice::Tc)).unwrap().links();
        assert!(links.iter().all(|link| link.xdp.is_empty()));
    });
    run.unwrap();
}

#[test]
fn root_when_one_interface_is_refused_nothing_stays_on_the_others() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let message = refusal(Wish::ingress(HookChoice::Xdp).on("right0,lo"));
        assert!(message.contains("cannot attach to lo"), "{message}");
        let links = Tap::attach(Wish::ingress(HookChoice::Tc)).unwrap().links();
        assert!(links.iter().all(|link| link.xdp.is_empty()), "{links:?}");

        let twice = refusal(Wish::ingress(HookChoice::Auto).on("right0,right0"));
        assert_eq!(twice, "interface right0 was named twice; name it once");
    });
    run.unwrap();
}

#[test]
fn root_missing_capabilities_are_named() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::ingress(HookChoice::Xdp).on("right0")).unwrap();
        let links = tap.links();
        let request = AttachRequest {
            interfaces: vec!["right0".to_owned()],
            hook: HookChoice::Tc,
            direction: DirectionChoice::Ingress,
            kernel: KernelFacts::default(),
        };
        let mut datapath = Datapath::load(&options()).unwrap();
        // Capabilities belong to the thread, and this one ends with the test.
        for capability in [Capability::CAP_SYS_ADMIN, Capability::CAP_BPF, Capability::CAP_PERFMON] {
            caps::drop(None, CapSet::Effective, capability).unwrap();
        }
        let error = Attachments::attach(&mut datapath, &links, request).unwrap_err().to_string();
        let expected = "cannot attach to right0: not permitted: this process lacks CAP_PERFMON and \
                        CAP_BPF (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are needed; or run it as root)";
        assert_eq!(error, expected);
    });
    run.unwrap();
}

#[test]
fn root_check_attaches_and_detaches() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let request = AttachRequest {
            interfaces: vec!["right0".to_owned()],
            hook: HookChoice::Auto,
            direction: DirectionChoice::Both,
            kernel: KernelFacts::default(),
        };
        let table = runtime.block_on(check(&options(), request, Path::new("/sys"))).unwrap();
        assert_eq!(table.attached().count(), 2, "{table}");
        let tap = Tap::attach(Wish::both(HookChoice::Tc)).unwrap();
        assert!(tap.links().named("right0").unwrap().xdp.is_empty());
    });
    run.unwrap();
}
