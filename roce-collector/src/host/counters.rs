//! Counters of an RDMA port.

use std::collections::BTreeMap;

use super::{RdmaPort, read_small};

/// A counter that says that RoCE packets passed a port.
#[derive(Debug)]
struct Counter {
    file: &'static str,
    /// 0 when it grows with packets that arrive, 1 with those that leave: the order of taps.
    direction: usize,
    /// Whether it counts every RoCE packet of its direction.
    is_packets: bool,
}

const fn packets(file: &'static str, direction: usize) -> Counter {
    Counter { file, direction, is_packets: true }
}

const fn sign(file: &'static str, direction: usize) -> Counter {
    Counter { file, direction, is_packets: false }
}

/// In the order of what tells a reader most. Of several that count packets the first is taken.
///
/// Names as in the kernel's drivers: mlx5, rxe (`rcvd_pkts`), bnxt_re (`rx_roce_only_pkts`), irdma
/// (`iwInRdma...`), erdma (`rx_packets_cnt`). The counters of the port's own folder (`port_rcv_packets`)
/// are those of RDMA traffic alone.
const COUNTERS: [Counter; 22] = [
    sign("hw_counters/rx_write_requests", 0),
    sign("hw_counters/rx_read_requests", 0),
    sign("hw_counters/rx_atomic_requests", 0),
    sign("hw_counters/iwInRdmaWrites", 0),
    sign("hw_counters/iwInRdmaReads", 0),
    sign("hw_counters/iwInRdmaSends", 0),
    packets("hw_counters/rcvd_pkts", 0),
    packets("hw_counters/sent_pkts", 1),
    packets("hw_counters/rdma_rx_packets", 0),
    packets("hw_counters/rdma_tx_packets", 1),
    packets("hw_counters/rx_roce_only_pkts", 0),
    packets("hw_counters/tx_roce_only_pkts", 1),
    packets("hw_counters/rx_packets_cnt", 0),
    packets("hw_counters/tx_packets_cnt", 1),
    packets("counters/port_rcv_packets", 0),
    packets("counters/port_xmit_packets", 1),
    sign("hw_counters/np_ecn_marked_roce_packets", 0),
    sign("hw_counters/rp_cnp_handled", 0),
    sign("hw_counters/np_cnp_sent", 1),
    sign("hw_counters/RxECNMrkd", 0),
    sign("hw_counters/cnpHandled", 0),
    sign("hw_counters/cnpSent", 1),
];

/// What the counters of one or more ports said at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// By place in the list of counters.
    values: BTreeMap<usize, u64>,
}

/// How counters grew between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Growth {
    /// Name and growth of those that did, the most telling first.
    pub(super) signs: Vec<(&'static str, u64)>,
    /// RoCE packets of the directions that were asked for; `None` when no counter tells.
    pub(super) packets: Option<u64>,
}

impl PortCounters {
    /// Reads the counters of `ports` and sums them up. A file that cannot be read is left out.
    ///
    /// Every look costs the driver work, on some NICs commands to the firmware: look seldom.
    pub fn read(ports: &[RdmaPort]) -> Self {
        let mut values = BTreeMap::new();
        for port in ports {
            for (place, counter) in COUNTERS.iter().enumerate() {
                let value = read_small(&port.folder.join(counter.file));
                if let Some(value) = value.and_then(|value| value.parse::<u64>().ok()) {
                    let sum: &mut u64 = values.entry(place).or_default();
                    *sum = sum.wrapping_add(value);
                }
            }
        }
        Self { values }
    }

    /// How the counters of some directions grew since `before`. One that went back was reset: it says
    /// nothing.
    pub(super) fn growth_since(&self, before: &Self, directions: [bool; 2]) -> Growth {
        let grown = |place: &usize| {
            let (now, before) = (self.values.get(place)?, before.values.get(place)?);
            now.checked_sub(*before)
        };
        let wanted =
            COUNTERS.iter().enumerate().filter(|(_, counter)| directions[counter.direction]);
        let signs = wanted.filter_map(|(place, counter)| {
            let grown = grown(&place).filter(|grown| *grown != 0)?;
            let name = counter.file.rsplit('/').next().unwrap_or(counter.file);
            Some((name, grown))
        });
        let packets_of = |direction: usize| {
            let mut counters = COUNTERS.iter().enumerate();
            counters.find_map(|(place, counter)| {
                let is_wanted = counter.is_packets && counter.direction == direction;
                is_wanted.then(|| grown(&place)).flatten()
            })
        };
        let wanted = (0..2).filter(|direction| directions[*direction]);
        Growth { signs: signs.collect(), packets: wanted.map(packets_of).sum() }
    }
}
