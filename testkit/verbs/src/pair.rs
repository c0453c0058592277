//! One RC queue pair with its buffer and completion queues.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use sideway::ibverbs::AccessFlags;
use sideway::ibverbs::address::{AddressHandleAttribute, Gid, GidType};
use sideway::ibverbs::completion::{
    BasicCompletionQueue, GenericCompletionQueue, PollCompletionQueueError,
};
use sideway::ibverbs::device::{DeviceInfo, DeviceList};
use sideway::ibverbs::device_context::{DeviceContext, Mtu};
use sideway::ibverbs::memory_region::MemoryRegion;
use sideway::ibverbs::queue_pair::{
    BasicQueuePair, PostSendGuard, QueuePair, QueuePairAttribute, QueuePairAttributeMask,
    QueuePairState, SetScatterGatherEntry, WorkRequestFlags,
};

use crate::exchange::Endpoint;
use crate::options::{Common, Operation};

const PORT: u8 = 1;
/// Bytes of the buffer, and so of the longest message.
pub(crate) const BUFFER: u32 = 1 << 16;
/// Entries of each queue.
pub(crate) const DEPTH: u32 = 128;

/// A queue pair and what belongs to it.
pub(crate) struct Pair {
    qp: BasicQueuePair,
    requests: Arc<BasicCompletionQueue>,
    receives: Arc<BasicCompletionQueue>,
    region: Arc<MemoryRegion>,
    gid_index: u8,
    own: Endpoint,
}

/// A work completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) id: u64,
    pub(crate) status: u32,
    pub(crate) vendor_err: u32,
}

impl Pair {
    /// Makes a queue pair in the state INIT.
    pub(crate) fn create(options: &Common) -> Result<Self> {
        let context = open(&options.device)?;
        let (gid_index, gid) = gid(&context, options.address).with_context(|| {
            format!("{} has no RoCEv2 GID for {}", options.device, options.address)
        })?;
        let domain = context.alloc_pd()?;
        let access = AccessFlags::LocalWrite | AccessFlags::RemoteWrite | AccessFlags::RemoteRead;
        let buffer: &'static mut [u8] = Box::leak(vec![0; BUFFER as usize].into_boxed_slice());
        // SAFETY: the buffer is leaked, so it is there for as long as the region.
        let region = unsafe { domain.reg_mr(buffer.as_mut_ptr().addr(), buffer.len(), access) }?;
        let [requests, receives] =
            [(); 2].map(|()| context.create_cq_builder().setup_cqe(DEPTH).build());
        let (requests, receives) = (requests?, receives?);
        let mut builder = domain.create_qp_builder();
        let mut qp = builder
            .setup_send_cq(GenericCompletionQueue::from(Arc::clone(&requests)))
            .setup_recv_cq(GenericCompletionQueue::from(Arc::clone(&receives)))
            .setup_max_send_wr(DEPTH)
            .setup_max_recv_wr(DEPTH)
            .build()?;
        let mut init = QueuePairAttribute::new();
        init.setup_state(QueuePairState::Init)
            .setup_pkey_index(0)
            .setup_port(PORT)
            .setup_access_flags(access);
        qp.modify(&init)?;
        let own = Endpoint {
            qp: qp.qp_number(),
            psn: first_psn(),
            gid,
            address: region.get_ptr() as u64,
            rkey: region.rkey(),
        };
        Ok(Self { qp, requests, receives, region, gid_index, own })
    }

    /// What the other side must know.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.own
    }

    /// Connects to `peer`: RTR, then RTS.
    pub(crate) fn connect(&mut self, peer: &Endpoint, options: &Common) -> Result<()> {
        let mut address = AddressHandleAttribute::new();
        address.setup_port(PORT).setup_grh(
            &Gid::from(peer.gid),
            0,
            self.gid_index,
            64,
            options.traffic_class,
        );
        let mut ready = QueuePairAttribute::new();
        ready
            .setup_state(QueuePairState::ReadyToReceive)
            .setup_path_mtu(mtu(options.path_mtu)?)
            .setup_dest_qp_num(peer.qp)
            .setup_rq_psn(peer.psn)
            .setup_max_dest_read_atomic(1)
            .setup_min_rnr_timer(options.rnr_timer)
            .setup_address_vector(&address);
        self.qp.modify(&ready).context("cannot get ready to receive")?;
        let mut ready = QueuePairAttribute::new();
        ready
            .setup_state(QueuePairState::ReadyToSend)
            .setup_sq_psn(self.own.psn)
            .setup_timeout(options.timeout)
            .setup_retry_cnt(options.retry_count)
            .setup_rnr_retry(options.rnr_retry)
            .setup_max_read_atomic(1);
        self.qp.modify(&ready).context("cannot get ready to send")
    }

    /// Posts a request of `len` bytes to the peer's buffer.
    pub(crate) fn post(
        &mut self,
        id: u64,
        operation: Operation,
        len: u32,
        peer: &Endpoint,
    ) -> Result<()> {
        let (key, address) = (self.region.lkey(), self.region.get_ptr() as u64);
        let mut guard = self.qp.start_post_send();
        let request = guard.construct_wr(id, WorkRequestFlags::Signaled);
        let handle = match operation {
            Operation::Write => request.setup_write(peer.rkey, peer.address),
            Operation::Send => request.setup_send(),
        };
        // SAFETY: the registered buffer is leaked and BUFFER long, and `len` is not more.
        unsafe { handle.setup_sge(key, address, len.min(BUFFER)) };
        guard.post().context("cannot post a request")
    }

    /// Posts a receive of the whole buffer: what arrives is not looked at.
    pub(crate) fn post_receive(&mut self) -> Result<()> {
        let (key, address) = (self.region.lkey(), self.region.get_ptr() as u64);
        let mut guard = self.qp.start_post_recv();
        let handle = guard.construct_wr(0);
        // SAFETY: the registered buffer is leaked and BUFFER long.
        unsafe { handle.setup_sge(key, address, BUFFER) };
        guard.post().context("cannot post a receive")
    }

    /// Completed requests.
    pub(crate) fn completed_requests(&self) -> Result<Vec<Completion>> {
        poll(&self.requests)
    }

    /// Completed receives.
    pub(crate) fn completed_receives(&self) -> Result<Vec<Completion>> {
        poll(&self.receives)
    }

    /// The state that the device has the queue pair in.
    pub(crate) fn state(&self) -> String {
        let answer = self.qp.query(QueuePairAttributeMask::State);
        answer.map_or_else(
            |error| error.to_string(),
            |(attributes, _)| format!("{:?}", attributes.state()),
        )
    }
}

fn poll(queue: &BasicCompletionQueue) -> Result<Vec<Completion>> {
    match queue.start_poll() {
        Ok(poller) => Ok(poller
            .map(|it| Completion {
                id: it.wr_id(),
                status: it.status(),
                vendor_err: it.vendor_err(),
            })
            .collect()),
        Err(PollCompletionQueueError::CompletionQueueEmpty) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn open(name: &str) -> Result<Arc<DeviceContext>> {
    let devices = DeviceList::new().context("cannot list RDMA devices")?;
    let device = devices.iter().find(|device| device.name() == name);
    let device = device.with_context(|| format!("there is no RDMA device {name}"))?;
    device.open().with_context(|| format!("cannot open {name}"))
}

/// Index and value of the RoCEv2 GID that stands for `address`.
fn gid(context: &DeviceContext, address: IpAddr) -> Result<(u8, Ipv6Addr)> {
    let wanted = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let table = context.query_gid_table()?;
    let entry = table
        .iter()
        .find(|entry| entry.gid_type() == GidType::RoceV2 && Ipv6Addr::from(entry.gid()) == wanted)
        .context("not in its GID table")?;
    Ok((entry.gid_index().try_into()?, wanted))
}

fn mtu(bytes: u32) -> Result<Mtu> {
    Ok(match bytes {
        256 => Mtu::Mtu256,
        512 => Mtu::Mtu512,
        1024 => Mtu::Mtu1024,
        2048 => Mtu::Mtu2048,
        4096 => Mtu::Mtu4096,
        other => bail!("path MTU {other}: use 256, 512, 1024, 2048 or 4096"),
    })
}

/// Another one for every process.
fn first_psn() -> u32 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (time.subsec_nanos() >> 4) & 0x00ff_ffff
}
