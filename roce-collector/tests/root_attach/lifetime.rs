//! How attachments end, and how they come back.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use aya::programs::{SchedClassifier, TcAttachType};
use roce_collector::attach::{Event, HookChoice, KernelFacts, LinkSource};
use roce_testkit::netns::VethPair;

use tokio::runtime::Builder;

use super::lab::{Lab, Tap, Wish, wait_until};

/// In the environment of a child process: attach, say so, and wait to be killed.
const CHILD: &str = "ROCE_ATTACH_AND_WAIT";
const CHILD_TEST: &str = "lifetime::root_an_attached_process_detaches_when_it_is_done";

/// How many XDP programs, TC links and `clsact` filters are on `right0`.
fn attached() -> (usize, usize, usize) {
    let tcx = |direction| SchedClassifier::query_tcx("right0", direction).unwrap().1.len();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let links = runtime.block_on(async {
        let source = LinkSource::open(Path::new("/sys")).unwrap();
        source.read(&["right0".to_owned()]).await.unwrap()
    });
    let link = links.named("right0").unwrap();
    (link.xdp.len(), tcx(TcAttachType::Ingress) + tcx(TcAttachType::Egress), link.filters.len())
}

fn kernel(tcx: bool) -> KernelFacts {
    KernelFacts { xdp_frags: true, tcx }
}

/// Also what the child process of the tests below runs.
#[test]
fn root_an_attached_process_detaches_when_it_is_done() {
    if let Ok(hook) = env::var(CHILD) {
        let (hook, tcx) =
            if hook == "clsact" { (HookChoice::Tc, false) } else { (HookChoice::Auto, true) };
        let tap = Tap::attach_with(Wish::both(hook), kernel(tcx), Path::new("/sys")).unwrap();
        println!("\nattached: {}", tap.modes());
        std::io::stdin().read_exact(&mut [0]).unwrap();
        return;
    }
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let tap = Tap::attach(Wish::both(HookChoice::Auto)).unwrap();
        assert_eq!(attached(), (1, 1, 0));
        drop(tap);
        wait_until("the links are gone", || attached() == (0, 0, 0));

        let wish = Wish::both(HookChoice::Tc);
        let tap = Tap::attach_with(wish, kernel(false), Path::new("/sys")).unwrap();
        assert_eq!(attached(), (0, 0, 2));
        drop(tap);
        assert_eq!(attached(), (0, 0, 0));
    });
    run.unwrap();
}

/// A process that is attached in the right namespace, and what it is attached by.
fn start_child(lab: &Lab, hook: &str) -> (Child, String) {
    let mut command = lab.right.command(env::current_exe().unwrap());
    command.args(["--exact", CHILD_TEST, "--nocapture"]).env(CHILD, hook);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.starts_with("attached: "));
    (child, said.expect("the child said nothing"))
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn root_nothing_stays_attached_after_sigkill() {
    let lab = Lab::new(1500);
    let (child, said) = start_child(&lab, "auto");
    assert_eq!(said, "attached: ingress native, egress tcx");
    let run = lab.right.run(|| {
        assert_eq!(attached(), (1, 1, 0));
        assert!(lab.ip("-d link show right0").contains("prog/xdp"));
        kill(child);
        wait_until("the links are gone", || attached() == (0, 0, 0));
        assert!(!lab.ip("-d link show right0").contains("xdp"));
    });
    run.unwrap();
}

#[test]
fn root_filters_of_a_killed_process_are_removed_by_the_next_one() {
    let lab = Lab::new(1500);
    let (child, said) = start_child(&lab, "clsact");
    assert_eq!(said, "attached: ingress clsact, egress clsact");
    let run = lab.right.run(|| {
        // A live process keeps its filters when another one starts.
        let wish = Wish::both(HookChoice::Tc);
        let tap = Tap::attach_with(wish, kernel(false), Path::new("/sys")).unwrap();
        assert_eq!(attached(), (0, 0, 4));
        drop(tap);
        assert_eq!(attached(), (0, 0, 2));
        kill(child);
        assert_eq!(attached(), (0, 0, 2));
        let tap = Tap::attach(Wish::both(HookChoice::Auto)).unwrap();
        assert_eq!(attached(), (1, 1, 0));
        lab.send(10, 64);
        tap.expect_packets(0, 10);
    });
    run.unwrap();
}

#[test]
fn root_an_interface_that_comes_back_is_attached_again_with_its_taps() {
    for hook in [HookChoice::Auto, HookChoice::Tc] {
        let Lab { left, right, veth } = Lab::new(1500);
        let run = right.run(|| {
            let mut tap = Tap::attach(Wish::both(hook)).unwrap();
            let modes = tap.modes();
            let config = veth.config().clone();
            let first = tap.links().named("right0").unwrap().index;
            assert_eq!(tap.reconcile(), []);

            drop(veth);
            assert_eq!(tap.reconcile(), [Event::Lost { interface: "right0".to_owned() }]);
            assert_eq!(tap.modes(), "");
            assert!(tap.table().to_string().contains("detached: the interface is gone"));
            assert_eq!(tap.reconcile(), []);

            let veth = VethPair::create(&left, &right, &config).unwrap();
            let events = tap.reconcile();
            let [Event::Attached { index, .. }] = events[..] else { panic!("{events:?}") };
            assert!(index != first, "the kernel gave the same index {index}");
            assert_eq!(tap.modes(), modes);
            assert_eq!(tap.reconcile(), []);
            roce_testkit::replay::replay(
                &left,
                "left0",
                (0..30).map(|psn| super::lab::write(psn, 64).build()),
                roce_testkit::send::Pace::Unlimited,
            )
            .unwrap();
            tap.expect_packets(0, 30);

            // Gone and back between two looks.
            drop(veth);
            let _veth = VethPair::create(&left, &right, &config).unwrap();
            let events = tap.reconcile();
            assert!(
                matches!(events[..], [Event::Lost { .. }, Event::Attached { .. }]),
                "{events:?}"
            );
            assert_eq!(tap.modes(), modes);
        });
        run.unwrap();
    }
}

#[test]
fn root_an_interface_that_comes_back_occupied_is_tried_again_when_that_changes() {
    let Lab { left, right, veth } = Lab::new(1500);
    let run = right.run(|| {
        let mut tap = Tap::attach(Wish::ingress(HookChoice::Xdp)).unwrap();
        let config = veth.config().clone();
        drop(veth);
        let _veth = VethPair::create(&left, &right, &config).unwrap();
        let other = Tap::attach(Wish::ingress(HookChoice::Xdp)).unwrap();
        let events = tap.reconcile();
        let [Event::Lost { .. }, Event::Failed { reason, .. }] = &events[..] else {
            panic!("{events:?}")
        };
        assert!(reason.contains("another XDP program"), "{reason}");
        assert_eq!(tap.modes(), "");
        // Nothing has changed, so it is neither tried nor said again.
        assert_eq!(tap.reconcile(), []);
        drop(other);
        wait_until("the other program is gone", || attached().0 == 0);
        assert!(matches!(tap.reconcile()[..], [Event::Attached { .. }]));
        assert_eq!(tap.modes(), "ingress native");
    });
    run.unwrap();
}

#[test]
fn root_a_program_that_somebody_detached_is_attached_again() {
    let lab = Lab::new(1500);
    let run = lab.right.run(|| {
        let wish = Wish::both(HookChoice::Tc);
        let mut tap = Tap::attach_with(wish, kernel(false), Path::new("/sys")).unwrap();
        let mut remove = lab.right.command("tc");
        assert!(
            remove.args(["qdisc", "del", "dev", "right0", "clsact"]).status().unwrap().success()
        );
        assert_eq!(attached(), (0, 0, 0));
        let events = tap.reconcile();
        assert!(
            matches!(
                events[..],
                [Event::Removed { .. }, Event::Removed { .. }, Event::Attached { .. }]
            ),
            "{events:?}"
        );
        lab.send(10, 64);
        tap.expect_packets(0, 10);
        assert_eq!(tap.reconcile(), []);
    });
    run.unwrap();
}
