//! Recorders of the last packets of connections in trouble.

use std::ptr::addr_of;

use aya::Ebpf;
use roce_common::flow::WideKey;
use roce_common::recording::{RECORDED_FRAMES, RecordedHeader, Recorder, allocated_recorders};

use super::DatapathError;
use super::mapped::MappedArray;

const NAME: &str = "FLIGHT_RECORDERS";

/// All recorders; none at all where nothing is recorded.
#[derive(Debug)]
pub struct RecorderTable(Option<MappedArray<Recorder>>);

/// What the recorders have of some connections.
#[derive(Debug, Default)]
pub struct RecordedHeaders {
    /// Packets, in no order.
    pub headers: Vec<RecordedHeader>,
    /// Packets that were overwritten while they were read.
    pub lost: u64,
}

impl RecorderTable {
    /// The table of `count` recorders.
    pub(super) fn new(ebpf: &Ebpf, count: u32) -> Result<Self, DatapathError> {
        if count == 0 {
            return Ok(Self(None));
        }
        let len = allocated_recorders(count) as usize;
        Ok(Self(Some(MappedArray::new(ebpf, NAME, len)?)))
    }

    /// What recorders have whose owner `is_wanted`.
    pub fn read(&self, is_wanted: impl Fn(&WideKey) -> bool) -> RecordedHeaders {
        let mut read = RecordedHeaders::default();
        let Some(recorders) = &self.0 else { return read };
        for recorder in (0..recorders.len()).filter_map(|index| recorders.pointer(index)) {
            // SAFETY: the pointer is valid and aligned. The kernel may write at the same time; every bit
            // pattern is a valid value.
            let (seen_ns, owner) = unsafe {
                (addr_of!((*recorder).seen_ns).read_volatile(), addr_of!((*recorder).owner).read())
            };
            if seen_ns != 0 && is_wanted(&owner) {
                read_ring(recorder, &mut read);
            }
        }
        read
    }
}

fn read_ring(recorder: *const Recorder, read: &mut RecordedHeaders) {
    // SAFETY: as above.
    let (first, next) = unsafe {
        (addr_of!((*recorder).first).read_volatile(), addr_of!((*recorder).next).read_volatile())
    };
    for ticket in Recorder::tickets(first, next) {
        let place = (ticket % RECORDED_FRAMES) as usize;
        // SAFETY: the place is inside the ring; else as above.
        let frame = unsafe { addr_of!((*recorder).frames).cast::<RecordedHeader>().add(place) };
        // SAFETY: as above. The number says whether the kernel wrote meanwhile: it is changed before and after.
        let (header, number) =
            unsafe { (frame.read_volatile(), addr_of!((*frame).number).read_volatile()) };
        if header.is_of(ticket) && number == header.number {
            read.headers.push(header);
        } else {
            read.lost += 1;
        }
    }
}
