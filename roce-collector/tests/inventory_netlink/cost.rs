//! CPU time of a sweep over a large host.

use std::fs;
use std::time::Duration;

use roce_collector::inventory::netlink::Reader;

use crate::kernel::FakeKernel;

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// The goal is 200 ms for everything, in a release build; this is the reader, and the bound leaves room
/// for a debug build.
#[test]
fn reading_20_000_queue_pairs_is_cheap() {
    let kernel = FakeKernel::with_devices(&[2500; 8]);
    let mut reader = Reader::new(|| Ok(kernel.clone()), 65_536);
    reader.read(Duration::ZERO).unwrap();
    let start = cpu_time();
    let view = reader.read(Duration::ZERO).unwrap();
    let took = cpu_time().saturating_sub(start);
    println!("20,000 queue pairs were read in {took:?} of CPU time, the fake kernel's part in it");
    assert_eq!(view.qps.len(), 20_000);
    assert!(took < Duration::from_secs(2), "{took:?}");
}
