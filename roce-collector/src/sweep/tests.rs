//! Sweeps over fake tables against a plain count of every packet.

mod flows;
mod ladders;
mod property;

use std::time::Duration;

use roce_common::marking::MarkingPolicy;
use roce_testkit::packet::{Aeth, Ecn, Opcode, Packet};

use super::fake::FakeTables;
use super::{Moment, SweepOptions, Sweeper};
use crate::capture::Timestamp;

/// ECN codepoints by their two bits.
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

const FLOW_IDLE: u64 = 30;

fn options() -> SweepOptions {
    SweepOptions {
        devices: 2,
        marking: MarkingPolicy::DEFAULT,
        flow_idle: Duration::from_secs(FLOW_IDLE),
        max_peers: 16,
        qp_series: 8,
    }
}

fn at(seconds: u64) -> Moment {
    let wall = Timestamp::from_nanos((1_000_000 + seconds) * 1_000_000_000);
    Moment { wall, boot_ns: 0, uptime: Duration::from_secs(seconds) }
}

fn tables(slots: usize) -> (FakeTables, Sweeper) {
    let tables = FakeTables::new(slots, 4);
    let sweeper = Sweeper::new(options(), &tables);
    (tables, sweeper)
}

fn write(dest_qp: u32, psn: u32) -> Vec<u8> {
    Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE).dest_qp(dest_qp).psn(psn).payload_len(64).build()
}
