//! A capture of a mirror port.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use roce_testkit::capture::{Format, PcapWriter};
use roce_testkit::scenario::{Connection, LossAt, Scenario, go_back_n, write_stream};

const CONNECTIONS: u16 = 64;
/// One of so many pairs of messages loses a packet.
const LOSS: u64 = 25;
/// PSNs that a connection moves on in one chunk: two messages of eight packets.
const STEP: u32 = 16;
/// 2025-01-01, in nanoseconds since the epoch.
const EPOCH: u64 = 1_735_689_600_000_000_000;

/// Writes at least `size` bytes, and returns how many packets that is.
pub(crate) fn write(file: &Path, size: u64, snaplen: u32) -> io::Result<u64> {
    let format = Format { snaplen, ..Format::default() };
    let mut writer = PcapWriter::new(BufWriter::new(File::create(file)?), format)?;
    let (mut packets, mut bytes, mut start) = (0, 0, EPOCH);
    for chunk in 0_u64.. {
        let traffic = (0..CONNECTIONS).map(|number| {
            let first_psn = STEP.wrapping_mul(chunk as u32) & 0x00ff_ffff;
            let connection = Connection { first_psn, ..Connection::ipv4(number) };
            if (chunk + u64::from(number)).is_multiple_of(LOSS) {
                go_back_n(&connection, 1, LossAt::BeforeTap)
            } else {
                write_stream(&connection, 2, 8)
            }
        });
        let scenario = Scenario::together("mirror", traffic);
        for frame in &scenario.frames {
            writer.write(start + frame.nanos, &frame.bytes)?;
            packets += 1;
            bytes += 16 + (frame.bytes.len() as u64).min(snaplen.into());
        }
        start += scenario.frames.last().map_or(0, |frame| frame.nanos) + 1_000;
        if bytes >= size {
            break;
        }
    }
    writer.finish()?;
    Ok(packets)
}
