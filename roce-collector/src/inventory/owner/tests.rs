//! A tree in the place of `/proc`.

use std::path::PathBuf;

use super::*;

fn proc() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/proc")
}

#[test]
fn a_process_of_no_container() {
    let owner = Owner::read(&proc(), 322);
    assert_eq!((owner.pid, owner.comm.as_deref()), (Some(322), Some("manyqp")));
    assert_eq!((owner.thread, owner.container), (None, None));
}

#[test]
fn a_thread_has_its_process_and_that_one_its_pod() {
    let owner = Owner::read(&proc(), 4177);
    assert_eq!((owner.task, owner.pid), (4177, Some(4100)));
    assert_eq!(owner.comm.as_deref(), Some("python3"));
    assert_eq!(owner.thread.as_deref(), Some("pt_nccl_net"));
    let container = owner.container.unwrap();
    assert_eq!(container.pod_uid.as_deref(), Some("0b5c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e"));
    assert!(container.container_id.unwrap().starts_with("8f0e5c1d"));
}

#[test]
fn control_groups_of_version_1() {
    let container = Owner::read(&proc(), 5000).container.unwrap();
    assert_eq!(container.pod_uid.as_deref(), Some("7a1e9f60-33c4-4a55-9b0d-0e7f6c5b4a39"));
    assert!(container.container_id.unwrap().starts_with("11223344"));
}

#[test]
fn what_cannot_be_read_is_not_known() {
    let gone = Owner::read(&proc(), 9999);
    assert_eq!((gone.task, gone.pid, gone.comm), (9999, None, None));
    let damaged = Owner::read(&proc(), 7000);
    assert_eq!(damaged.pid, None);
    let odd = Owner::read(&proc(), 6000);
    assert_eq!((odd.pid, odd.comm.as_deref()), (Some(6000), Some("\u{fffd}\u{fffd}bad")));
    assert_eq!(odd.container, None);
}

#[test]
fn a_task_is_looked_up_once_a_sweep_and_not_too_many() {
    let mut owners = Owners::new(&proc());
    let first = owners.find(322).unwrap();
    assert!(Arc::ptr_eq(&first, &owners.find(322).unwrap()));
    for task in 0..MAX_LOOKUPS as u32 - 1 {
        assert!(owners.find(100_000 + task).is_some());
    }
    assert_eq!(owners.find(4100), None);
    let hidden = MAX_LOOKUPS as u64 - 1;
    assert_eq!(owners.counts(), OwnerCounts { put_off: 1, hidden });
    owners.begin_sweep();
    assert!(!Arc::ptr_eq(&first, &owners.find(322).unwrap()), "numbers may be given anew");
    assert!(owners.find(4100).is_some());
}
