//! What the probes on the kernel's queue pairs tell, and what they must know of the kernel's structs.

/// Length of an RDMA device's name in the kernel, the final zero included (`IB_DEVICE_NAME_MAX`).
pub const DEVICE_NAME_BYTES: usize = 64;
/// Length of a task's name in the kernel, the final zero included (`TASK_COMM_LEN`).
pub const COMM_BYTES: usize = 16;

/// One thing that happened to a queue pair.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpRecord {
    /// Nanoseconds since boot, without the time that the machine slept.
    pub time_ns: u64,
    /// One of [`QpRecordKind`].
    pub kind: u32,
    /// See the kind.
    pub detail: u32,
    /// Number of the queue pair.
    pub lqpn: u32,
    /// Process that made the call; 0 where it was none: interrupts and threads of the kernel.
    pub pid: u32,
    /// What was known of the queue pair before this.
    pub known: QpKnown,
    /// Name of the thread that made the call; empty where it was none.
    pub comm: [u8; COMM_BYTES],
    /// Name of the RDMA device.
    pub device: [u8; DEVICE_NAME_BYTES],
}

/// What the latest calls said about a queue pair. The largest value of a field stands for "not known".
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpKnown {
    /// `enum ib_qp_state`.
    pub state: u8,
    /// Code of the local ACK timeout, 5 bits.
    pub timeout: u8,
    /// Retries without an answer, 3 bits.
    pub retry_cnt: u8,
    /// Retries after RNR NAKs, 3 bits.
    pub rnr_retry: u8,
    /// Queue pair of the peer, 24 bits.
    pub rqpn: u32,
}

impl QpKnown {
    /// Nothing.
    pub const NOTHING: Self = Self {
        state: u8::MAX,
        timeout: u8::MAX,
        retry_cnt: u8::MAX,
        rnr_retry: u8::MAX,
        rqpn: u32::MAX,
    };
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum QpRecordKind {
    /// A program or the kernel asked for the state ERR.
    ModifiedToErr = 1,
    /// The driver itself put it into ERR.
    DriverError = 2,
    /// An asynchronous event: `detail` is its `enum ib_event_type`.
    AsyncEvent = 3,
    /// It is being destroyed.
    Destroyed = 4,
}

impl QpRecordKind {
    /// The kind with this number.
    pub const fn of_code(code: u32) -> Option<Self> {
        match code {
            1 => Some(Self::ModifiedToErr),
            2 => Some(Self::DriverError),
            3 => Some(Self::AsyncEvent),
            4 => Some(Self::Destroyed),
            _ => None,
        }
    }
}

/// Where things are in the structs of the running kernel, as offsets in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelLayout {
    /// The first three arguments of a function, in the registers that a probe is given.
    pub arguments: [u32; 3],
    /// `task_struct.flags`
    pub task_flags: u32,
    /// `ib_device.name`
    pub device_name: u32,
    /// `ib_qp.device`
    pub qp_device: u32,
    /// `ib_qp.real_qp`
    pub qp_real: u32,
    /// `ib_qp.qp_num`
    pub qp_num: u32,
    /// `ib_qp_attr.qp_state`
    pub attr_state: u32,
    /// `ib_qp_attr.dest_qp_num`
    pub attr_dest_qpn: u32,
    /// `ib_qp_attr.timeout`
    pub attr_timeout: u32,
    /// `ib_qp_attr.retry_cnt`
    pub attr_retry_cnt: u32,
    /// `ib_qp_attr.rnr_retry`
    pub attr_rnr_retry: u32,
    /// `ib_event.event`
    pub event_type: u32,
    /// `ib_event.element.qp`
    pub event_qp: u32,
    /// `rxe_qp.ibqp`
    pub rxe_qp: u32,
}

/// Records that nobody will see, on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRecords {
    /// More than the limit of a second.
    pub limited: u64,
    /// The ring buffer had no room.
    pub ring_full: u64,
    /// The kernel's memory could not be read.
    pub unreadable: u64,
}

const _: () = assert!(size_of::<QpRecord>() == 112);
