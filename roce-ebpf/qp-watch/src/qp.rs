//! Queue pairs of the kernel, and what is known of them.

use crate::call::{Call, Unreadable, read};
use crate::maps::KNOWN;
use roce_common::qp_watch::QpKnown;

/// `enum ib_qp_state`, part of the interface to user space like all numbers here.
pub(crate) const IB_QPS_ERR: u8 = 6;

/// `enum ib_qp_attr_mask`
const IB_QP_STATE: u32 = 1 << 0;
const IB_QP_TIMEOUT: u32 = 1 << 9;
const IB_QP_RETRY_CNT: u32 = 1 << 10;
const IB_QP_RNR_RETRY: u32 = 1 << 11;
const IB_QP_DEST_QPN: u32 = 1 << 20;

/// `enum ib_event_type`
const IB_EVENT_QP_FATAL: u32 = 1;
const IB_EVENT_QP_REQ_ERR: u32 = 2;
const IB_EVENT_QP_ACCESS_ERR: u32 = 3;
const IB_EVENT_PATH_MIG_ERR: u32 = 7;
const IB_EVENT_QP_LAST_WQE_REACHED: u32 = 16;

/// A queue pair that a call is about.
pub(crate) struct Qp {
    key: QpKey,
}

/// A queue pair as long as it lives: its number is unique in its device.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct QpKey {
    device: u64,
    lqpn: u32,
    reserved: u32,
}

/// What a call of `ib_modify_qp` asks for.
pub(crate) struct Modification {
    pub(crate) state: u8,
    asked: QpKnown,
}

/// Whether an asynchronous event says that something is wrong: not that a connection is established, a
/// queue drained or a path migrated.
#[inline(always)]
pub(crate) fn is_failure(event: u32) -> bool {
    leaves_err(event) || event == IB_EVENT_PATH_MIG_ERR
}

/// Whether a queue pair is in ERR when the event comes (IBTA 11.6.3.1).
#[inline(always)]
pub(crate) fn leaves_err(event: u32) -> bool {
    matches!(
        event,
        IB_EVENT_QP_FATAL
            | IB_EVENT_QP_REQ_ERR
            | IB_EVENT_QP_ACCESS_ERR
            | IB_EVENT_QP_LAST_WQE_REACHED
    )
}

impl Qp {
    /// The `ib_qp` at `address`.
    #[inline(always)]
    pub(crate) fn at(call: &Call<'_>, address: u64) -> Result<Self, Unreadable> {
        let device = read(address, call.layout.qp_device)?;
        let lqpn = read(address, call.layout.qp_num)?;
        Ok(Self { key: QpKey { device, lqpn, reserved: 0 } })
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        self.key.lqpn
    }

    /// Address of its `ib_device`.
    #[inline(always)]
    pub(crate) fn device(&self) -> u64 {
        self.key.device
    }

    #[inline(always)]
    pub(crate) fn known(&self) -> QpKnown {
        // SAFETY: the value is copied at once; a torn one is a state that was known a moment ago.
        unsafe { KNOWN.get(self.key) }.copied().unwrap_or(QpKnown::NOTHING)
    }

    #[inline(always)]
    pub(crate) fn remember(&self, known: QpKnown) {
        // When there is no room, less is known later.
        let _ = KNOWN.insert(self.key, known, 0);
    }

    #[inline(always)]
    pub(crate) fn forget(&self) {
        // It need not be there.
        let _ = KNOWN.remove(self.key);
    }
}

impl Modification {
    /// `None` for a call that leaves the state alone.
    #[inline(always)]
    pub(crate) fn read(call: &Call<'_>) -> Result<Option<Self>, Unreadable> {
        let layout = call.layout;
        let mask = call.argument(2)? as u32;
        if mask & IB_QP_STATE == 0 {
            return Ok(None);
        }
        let attributes = call.argument(1)?;
        let state: u32 = read(attributes, layout.attr_state)?;
        let mut asked = QpKnown { state: state as u8, ..QpKnown::NOTHING };
        if mask & IB_QP_DEST_QPN != 0 {
            asked.rqpn = read(attributes, layout.attr_dest_qpn)?;
        }
        if mask & IB_QP_TIMEOUT != 0 {
            asked.timeout = read(attributes, layout.attr_timeout)?;
        }
        if mask & IB_QP_RETRY_CNT != 0 {
            asked.retry_cnt = read(attributes, layout.attr_retry_cnt)?;
        }
        if mask & IB_QP_RNR_RETRY != 0 {
            asked.rnr_retry = read(attributes, layout.attr_rnr_retry)?;
        }
        Ok(Some(Self { state: asked.state, asked }))
    }

    /// What is known afterwards.
    #[inline(always)]
    pub(crate) fn applied_to(&self, before: QpKnown) -> QpKnown {
        let asked = &self.asked;
        let byte = |asked: u8, before: u8| if asked == u8::MAX { before } else { asked };
        QpKnown {
            state: asked.state,
            timeout: byte(asked.timeout, before.timeout),
            retry_cnt: byte(asked.retry_cnt, before.retry_cnt),
            rnr_retry: byte(asked.rnr_retry, before.rnr_retry),
            rqpn: if asked.rqpn == u32::MAX { before.rqpn } else { asked.rqpn },
        }
    }
}
