//! What the kernel says about devices, ports and queue pairs, read from the attributes of a message.

use netlink_packet_core::{DecodeError, NlaBuffer, NlasIterator, parse_u8, parse_u32};

use super::ids::{Command, attribute};
use crate::inventory::qp::{PathMigration, QpState, QpType};

/// Something that messages of a dump hold.
pub trait Record: Sized {
    /// The dump that it comes with.
    const COMMAND: Command;

    /// Reads the records of one message. `keep` takes each, and a mark for each that cannot be read.
    fn read(attributes: &[u8], keep: &mut impl FnMut(Result<Self, Damaged>));
}

/// A record, or the rest of a message, that is cut off or lacks what makes it one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of the kernel is damaged")]
pub struct Damaged;

impl From<DecodeError> for Damaged {
    fn from(_: DecodeError) -> Self {
        Self
    }
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Number, as long as the device lives.
    pub index: u32,
    /// Name, for example `mlx5_0`; it may change.
    pub name: String,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// Number, from 1.
    pub port: u32,
    /// Index of its network interface. The kernel tells only those of the asking process's network
    /// namespace.
    pub netdev_index: Option<u32>,
    /// Name of its network interface, under the same condition.
    pub netdev: Option<String>,
}

/// A queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QpRecord {
    /// Index of its device.
    pub device: u32,
    /// Port; not known before the state INIT.
    pub port: Option<u32>,
    /// Local QPN.
    pub lqpn: u32,
    /// Remote QPN, of RC and UC; 0 before the state RTR.
    pub rqpn: Option<u32>,
    /// Transport service.
    pub qp_type: QpType,
    /// What kind of queue pair of the driver it is, for example `DCI` of mlx5.
    pub subtype: Option<String>,
    /// State, as the driver knows it now.
    pub state: QpState,
    /// PSN of the send queue.
    pub sq_psn: Option<u32>,
    /// PSN of the receive queue, of RC and UC.
    pub rq_psn: Option<u32>,
    /// Path migration state, of RC, UC and XRC.
    pub path_migration: Option<PathMigration>,
    /// The task that made it, in the asking process's PID namespace: a thread's number where a thread
    /// did. Left out by the kernel for tasks that ended or are not in that namespace.
    pub task: Option<u32>,
    /// The kernel module that made it, where it was none of a process.
    pub kernel_name: Option<String>,
}

impl Record for DeviceRecord {
    const COMMAND: Command = Command::Devices;

    fn read(attributes: &[u8], keep: &mut impl FnMut(Result<Self, Damaged>)) {
        let (mut index, mut name) = (None, None);
        let whole = for_each(attributes, |kind, attribute| {
            match kind {
                attribute::DEV_INDEX => index = Some(parse_u32(attribute.value())?),
                attribute::DEV_NAME => name = Some(text(attribute.value())),
                _ => {}
            }
            Ok(())
        });
        let record = || Some(Self { index: index?, name: name? });
        keep(whole.and_then(|()| record().ok_or(Damaged)));
    }
}

impl Record for PortRecord {
    const COMMAND: Command = Command::Ports;

    fn read(attributes: &[u8], keep: &mut impl FnMut(Result<Self, Damaged>)) {
        let (mut port, mut netdev_index, mut netdev) = (None, None, None);
        let whole = for_each(attributes, |kind, attribute| {
            match kind {
                attribute::PORT_INDEX => port = Some(parse_u32(attribute.value())?),
                attribute::NDEV_INDEX => netdev_index = Some(parse_u32(attribute.value())?),
                attribute::NDEV_NAME => netdev = Some(text(attribute.value())),
                _ => {}
            }
            Ok(())
        });
        let port = whole.and_then(|()| port.ok_or(Damaged));
        keep(port.map(|port| Self { port, netdev_index, netdev }));
    }
}

impl Record for QpRecord {
    const COMMAND: Command = Command::QueuePairs;

    fn read(attributes: &[u8], keep: &mut impl FnMut(Result<Self, Damaged>)) {
        let mut device = None;
        let whole = for_each(attributes, |kind, attribute| {
            match kind {
                attribute::DEV_INDEX => device = Some(parse_u32(attribute.value())?),
                attribute::RES_QP => {
                    // The kernel puts the device before the table.
                    let device = device.ok_or(Damaged)?;
                    return for_each(attribute.value(), |kind, entry| {
                        if kind == attribute::RES_QP_ENTRY {
                            keep(Self::of_entry(device, entry.value()));
                        }
                        Ok(())
                    });
                }
                _ => {}
            }
            Ok(())
        });
        if whole.is_err() {
            keep(Err(Damaged));
        }
    }
}

impl QpRecord {
    fn of_entry(device: u32, attributes: &[u8]) -> Result<Self, Damaged> {
        let (mut lqpn, mut qp_type, mut state) = (None, None, None);
        let mut record = Self {
            device,
            port: None,
            lqpn: 0,
            rqpn: None,
            qp_type: QpType::SMI,
            subtype: None,
            state: QpState::RESET,
            sq_psn: None,
            rq_psn: None,
            path_migration: None,
            task: None,
            kernel_name: None,
        };
        for_each(attributes, |kind, attribute| {
            let value = attribute.value();
            match kind {
                attribute::PORT_INDEX => record.port = Some(parse_u32(value)?),
                attribute::RES_LQPN => lqpn = Some(parse_u32(value)?),
                attribute::RES_RQPN => record.rqpn = Some(parse_u32(value)?),
                attribute::RES_RQ_PSN => record.rq_psn = Some(parse_u32(value)?),
                attribute::RES_SQ_PSN => record.sq_psn = Some(parse_u32(value)?),
                attribute::RES_PATH_MIG_STATE => {
                    record.path_migration = Some(PathMigration(parse_u8(value)?));
                }
                attribute::RES_TYPE => qp_type = Some(QpType(parse_u8(value)?)),
                attribute::RES_SUBTYPE => record.subtype = Some(text(value)),
                attribute::RES_STATE => state = Some(QpState(parse_u8(value)?)),
                attribute::RES_PID => record.task = Some(parse_u32(value)?),
                attribute::RES_KERN_NAME => record.kernel_name = Some(text(value)),
                _ => {}
            }
            Ok(())
        })?;
        let (lqpn, qp_type, state) = (lqpn.ok_or(Damaged)?, qp_type.ok_or(Damaged)?, state);
        Ok(Self { lqpn, qp_type, state: state.ok_or(Damaged)?, ..record })
    }
}

fn for_each(
    attributes: &[u8],
    mut take: impl FnMut(u16, NlaBuffer<&[u8]>) -> Result<(), Damaged>,
) -> Result<(), Damaged> {
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        take(attribute.kind(), attribute)?;
    }
    Ok(())
}

/// A string of the kernel, which ends with its first NUL.
fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}
