//! Numbers of the kernel's interface: `include/uapi/rdma/rdma_netlink.h`.

/// Netlink protocol of the RDMA subsystem.
pub(super) const NETLINK_RDMA: isize = 20;

/// The part of the RDMA subsystem that answers, in the upper bits of a message's type.
const NLDEV: u16 = 5;

/// What is asked for. Each of these can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// `RDMA_NLDEV_CMD_GET`: devices.
    Devices = 1,
    /// `RDMA_NLDEV_CMD_PORT_GET`: ports of a device.
    Ports = 5,
    /// `RDMA_NLDEV_CMD_RES_QP_GET`: queue pairs of a device.
    QueuePairs = 10,
}

impl Command {
    /// Type of its messages.
    pub const fn message_type(self) -> u16 {
        NLDEV << 10 | self as u16
    }
}

/// Attributes: `RDMA_NLDEV_ATTR_...`.
pub(super) mod attribute {
    pub(in super::super) const DEV_INDEX: u16 = 1;
    pub(in super::super) const DEV_NAME: u16 = 2;
    pub(in super::super) const PORT_INDEX: u16 = 3;
    pub(in super::super) const RES_QP: u16 = 19;
    pub(in super::super) const RES_QP_ENTRY: u16 = 20;
    pub(in super::super) const RES_LQPN: u16 = 21;
    pub(in super::super) const RES_RQPN: u16 = 22;
    pub(in super::super) const RES_RQ_PSN: u16 = 23;
    pub(in super::super) const RES_SQ_PSN: u16 = 24;
    pub(in super::super) const RES_PATH_MIG_STATE: u16 = 25;
    pub(in super::super) const RES_TYPE: u16 = 26;
    pub(in super::super) const RES_STATE: u16 = 27;
    pub(in super::super) const RES_PID: u16 = 28;
    pub(in super::super) const RES_KERN_NAME: u16 = 29;
    pub(in super::super) const NDEV_INDEX: u16 = 50;
    pub(in super::super) const NDEV_NAME: u16 = 51;
    pub(in super::super) const RES_SUBTYPE: u16 = 98;
}
