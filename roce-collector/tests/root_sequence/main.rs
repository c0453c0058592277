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
