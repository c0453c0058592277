//! Kernels in trouble, and hosts without RDMA.

use std::io;
use std::time::Duration;

use roce_collector::inventory::netlink::{
    Command, KernelSocket, KernelView, ReadCounts, ReadError, Reader, is_absent,
};

use crate::kernel::{FakeKernel, Trouble};

fn read(kernel: &FakeKernel, limit: usize) -> (Result<KernelView, ReadError>, ReadCounts) {
    let mut reader = Reader::new(|| Ok(kernel.clone()), limit);
    let view = reader.read(Duration::ZERO);
    (view, reader.counts())
}

#[test]
fn an_interrupted_dump_is_asked_for_again_a_few_times() {
    let trouble = Trouble { interrupted: 2, ..Trouble::default() };
    let (view, counts) = read(&FakeKernel::in_trouble(&[3], trouble), 100);
    assert!(view.unwrap().devices[0].is_whole);
    assert_eq!(counts, ReadCounts { repeated: 2, ..ReadCounts::default() });

    let with = Some(Command::QueuePairs);
    let for_ever = Trouble { with, interrupted: u32::MAX, ..Trouble::default() };
    let (view, counts) = read(&FakeKernel::in_trouble(&[3], for_ever), 100);
    let view = view.unwrap();
    assert_eq!((view.qps.len(), view.devices[0].is_whole), (3, false));
    assert_eq!(counts, ReadCounts { repeated: 3, ..ReadCounts::default() });
}

#[test]
fn a_dump_that_ends_with_an_error_is_not_whole() {
    let with = Some(Command::QueuePairs);
    let trouble = Trouble { with, error: libc::EIO, ..Trouble::default() };
    let (view, counts) = read(&FakeKernel::in_trouble(&[3, 4], trouble), 100);
    let view = view.unwrap();
    assert_eq!(view.qps.len(), 7, "what came before is used");
    assert!(view.devices.iter().all(|device| !device.is_whole));
    assert_eq!(counts.failed, 2);
}

/// A device that is left out would be taken for gone.
#[test]
fn a_list_of_devices_is_whole_or_none() {
    let with = Some(Command::Devices);
    for (trouble, expected) in [
        (
            Trouble { error: libc::EPERM, ..Trouble::default() },
            "Operation not permitted (os error 1)",
        ),
        (Trouble { interrupted: u32::MAX, ..Trouble::default() }, "the list keeps changing"),
        (Trouble { is_cut: true, ..Trouble::default() }, "the list is damaged"),
    ] {
        let (view, _) = read(&FakeKernel::in_trouble(&[3], Trouble { with, ..trouble }), 100);
        let error = view.unwrap_err().to_string();
        assert_eq!(error, format!("cannot ask the kernel for its RDMA devices: {expected}"));
    }
}

#[test]
fn ports_that_cannot_be_had_are_those_that_are_known() {
    let mut opened = 0;
    let mut reader = Reader::new(
        || {
            opened += 1;
            let trouble = match opened {
                1 => Trouble {
                    with: Some(Command::QueuePairs),
                    is_silent: true,
                    ..Trouble::default()
                },
                _ => Trouble { with: Some(Command::Ports), error: libc::EIO, ..Trouble::default() },
            };
            Ok(FakeKernel::in_trouble(&[3], trouble))
        },
        100,
    );
    let netdev = |view: &KernelView| view.devices[0].ports[0].netdev.clone();
    let view = reader.read(Duration::ZERO).unwrap();
    assert_eq!(netdev(&view).as_deref(), Some("eth0"));
    assert_eq!(reader.counts().failed, 1, "the first socket is given up");
    let later = reader.read(Duration::from_mins(1)).unwrap();
    assert_eq!((netdev(&later), reader.counts().failed), (netdev(&view), 2));
}

#[test]
fn more_queue_pairs_than_wanted_are_counted() {
    let (view, counts) = read(&FakeKernel::with_devices(&[30, 40, 50]), 60);
    let view = view.unwrap();
    let whole: Vec<_> = view.devices.iter().map(|device| device.is_whole).collect();
    assert_eq!((view.qps.len(), whole), (60, vec![true, false, false]));
    assert_eq!(counts.losses.over_limit, 60);
}

#[test]
fn an_answer_without_an_end_is_given_up() {
    let endless = FakeKernel::in_trouble(&[3], Trouble { is_endless: true, ..Trouble::default() });
    let (view, counts) = read(&endless, 100);
    let error = view.unwrap_err().to_string();
    assert_eq!(error, "cannot ask the kernel for its RDMA devices: the answer does not end");
    assert_eq!(counts.failed, 1);

    let silent = FakeKernel::in_trouble(&[3], Trouble { is_silent: true, ..Trouble::default() });
    let (view, _) = read(&silent, 100);
    assert!(matches!(view, Err(ReadError::Devices(_))));
}

#[test]
fn after_an_error_the_socket_is_opened_again() {
    let mut opened = 0;
    let mut reader = Reader::new(
        || {
            opened += 1;
            let trouble = Trouble { is_silent: opened == 1, ..Trouble::default() };
            Ok(FakeKernel::in_trouble(&[3], trouble))
        },
        100,
    );
    assert!(reader.read(Duration::ZERO).is_err());
    assert_eq!(reader.read(Duration::ZERO).unwrap().qps.len(), 3);
    drop(reader);
    assert_eq!(opened, 2);
}

#[test]
fn a_host_without_rdma_is_told_from_one_in_trouble() {
    let empty = tempfile::tempdir().unwrap();
    let error = KernelSocket::open(empty.path()).unwrap_err();
    assert!(is_absent(&error), "{error}");
    assert!(is_absent(&io::Error::from_raw_os_error(libc::EPROTONOSUPPORT)));
    for other in [libc::EPERM, libc::EMFILE, libc::ENOMEM] {
        assert!(!is_absent(&io::Error::from_raw_os_error(other)));
    }
}
