//! Logs that once broke something, and the seeds of the fuzz target.

mod exercise;

use std::fs;
use std::path::Path;

fn run_all(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(folder);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = 0;
    for entry in entries {
        let path = entry.expect("an entry of the folder").path();
        println!("{}", path.display());
        exercise::exercise(&fs::read(&path).expect("a readable file"));
        files += 1;
    }
    files
}

#[test]
fn logs_that_once_broke_something() {
    run_all("regressions/explain_log");
}

#[test]
fn seeds_of_the_fuzz_target() {
    assert!(run_all("corpus/explain_log") >= 12);
}
