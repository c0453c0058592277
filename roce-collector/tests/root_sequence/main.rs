//! The PSN engine in the kernel against the same engine on the capture file. Needs root: fails without.
//!
//! Every capture is played into a veth pair as it was captured, pauses included, and what the kernel's
//! records then say of each PSN space must equal what `roce-trace read` says of the file.
//!
//! `ROCE_CAPTURES` names a folder with more captures.

mod lane;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use lane::Lane;
use roce_common::event::EventKind;
use roce_common::psn::Psn;
use roce_common::sequence::AckState;
use roce_testkit::scenario::{Connection, LossAt, Scenario, answers_lost, go_back_n};

/// Captures played at the same time. Most of their time is pauses.
const LANES: usize = 6;

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.to_string_lossy().contains(".pcap") {
            found.push(path);
        }
    }
}

#[test]
fn root_captures_have_the_same_psn_figures_in_kernel_and_file() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let mut paths = Vec::new();
    for folder in ["lab", "lossless", "derived"] {
        captures(&testdata.join(folder), &mut paths);
    }
    assert!(paths.len() > 25, "{} captures", paths.len());
    if let Some(folder) = std::env::var_os("ROCE_CAPTURES") {
        captures(Path::new(&folder), &mut paths);
    }
    paths.sort();
    let total = paths.len();
    let (left, differences) = (Mutex::new(paths), Mutex::new(Vec::new()));
    let compared = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let mut lane = Lane::new();
                loop {
                    let Some(path) = left.lock().expect("no panic").pop() else { break };
                    let outcome = lane.compare(&path);
                    *compared.lock().expect("no panic") += outcome.spaces;
                    differences.lock().expect("no panic").extend(outcome.differences);
                }
            });
        }
    });
    let differences = differences.into_inner().expect("no panic");
    let compared = compared.into_inner().expect("no panic");
    println!("{total} captures, {compared} PSN spaces");
    assert!(compared > total / 2, "{compared} PSN spaces in {total} captures");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// The rewinds that the kernel tells of: where each began, and what was acknowledged then.
fn rewinds(lane: &mut Lane, scenario: &Scenario) -> Vec<(u32, Option<u32>)> {
    let events = lane.events_of(scenario).into_iter();
    let rewinds = events.filter(|event| event.kind == EventKind::Rewind as u32);
    let acknowledged = |word| AckState::acknowledged_in(word).map(Psn::get);
    rewinds.map(|event| (event.psn, acknowledged(event.acknowledged))).collect()
}

#[test]
fn root_a_rewind_says_what_was_acknowledged() {
    let mut lane = Lane::new();
    for (number, first_psn) in [(1, 100), (2, 0x00ff_fffc)] {
        let connection = Connection { first_psn, ..Connection::ipv4(number) };
        let last = (first_psn + 7) & 0x00ff_ffff;
        let rewound = rewinds(&mut lane, &answers_lost(&connection, 3));
        assert_eq!(rewound, [(first_psn, Some(last)); 3], "{first_psn}");
    }
    // The packet that a NAK asks for, and only what is before it was acknowledged.
    let connection = Connection { first_psn: 100, ..Connection::ipv4(3) };
    let rewound = rewinds(&mut lane, &go_back_n(&connection, 2, LossAt::AfterTap));
    assert_eq!(rewound, [(103, Some(102)), (119, Some(118))]);
}
