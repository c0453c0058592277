//! Every capture of the test data, decoded by tshark and by the parser: both must read the same.
//!
//! tshark decodes as it does by default. Where it is known to see something else, the difference is
//! named here and counted, so that a new one is noticed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use roce_collector::capture::{CaptureReader, NetworkStart, network_layer};
use roce_common::wire::{
    EtherType, ExtendedHeaders, Ipv6, PacketRead, ParseReason, Parsed, RocePacket, RoceVersion,
    SliceReader, parse_ethernet, parse_network,
};

const OPCODE: &str = "infiniband.bth.opcode";

/// What tshark is asked for. A packet's own values come from [`fields`] under the same names.
const FIELDS: [&str; 29] = [
    OPCODE,
    "infiniband.bth.se",
    "infiniband.bth.m",
    "infiniband.bth.padcnt",
    "infiniband.bth.tver",
    "infiniband.bth.p_key",
    "infiniband.bth.destqp",
    "infiniband.bth.a",
    "infiniband.bth.psn",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
    "infiniband.reth.va",
    "infiniband.reth.r_key",
    "infiniband.reth.dmalen",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp",
    "infiniband.atomiceth.swapdt",
    "infiniband.atomiceth.cmpdt",
    "infiniband.atomicacketh.origremdt",
    "infiniband.immdt",
    "infiniband.grh.tclass",
    "ip.dsfield",
    "ip.len",
    "ipv6.tclass",
    "ipv6.flow",
    "udp.srcport",
    "udp.length",
    "vlan.id",
    "vlan.priority",
];

/// Packets of the test data that tshark dissects as InfiniBand.
const PACKETS: usize = 29_273;

/// One packet as tshark decodes it: the fields that it has.
type Decoded = BTreeMap<&'static str, u64>;

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    let mut files = Vec::new();
    for folder in fs::read_dir(&root).expect("testdata/captures") {
        let folder = folder.expect("an entry").path();
        for file in fs::read_dir(&folder).expect("a folder of captures") {
            let file = file.expect("an entry").path();
            let name = file.to_string_lossy();
            if [".pcap", ".pcapng", ".gz"].iter().any(|end| name.ends_with(end)) {
                files.push(file);
            }
        }
    }
    files.sort();
    files
}

fn tshark(file: &Path) -> Vec<Decoded> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file).args(["-T", "fields", "-E", "occurrence=f"]);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "cannot run tshark, which this test compares with: {error}. \
             Install it, for example with `apt-get install tshark`"
        )
    });
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark -r {}: {message}", file.display());
    String::from_utf8(output.stdout).expect("text").lines().map(decoded).collect()
}

fn decoded(line: &str) -> Decoded {
    let values: Vec<_> = line.split('\t').collect();
    assert_eq!(values.len(), FIELDS.len(), "{line}");
    let pairs = FIELDS.into_iter().zip(values).filter(|(_, value)| !value.is_empty());
    pairs.map(|(field, value)| (field, number(field, value))).collect()
}

fn number(field: &str, value: &str) -> u64 {
    let number = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        // Shown as bytes.
        None if field == "infiniband.immdt" => u64::from_str_radix(value, 16),
        None => value.parse(),
    };
    number.unwrap_or_else(|error| panic!("{field} is {value}: {error}"))
}

/// The same fields as the parser reads them.
fn fields(frame: &[u8], packet: &RocePacket) -> Decoded {
    let bth = packet.bth;
    let mut fields = Decoded::from([
        (OPCODE, bth.opcode().0.into()),
        ("infiniband.bth.se", bth.solicited_event().into()),
        ("infiniband.bth.m", bth.mig_req().into()),
        ("infiniband.bth.padcnt", bth.pad_count().into()),
        ("infiniband.bth.tver", bth.transport_version().into()),
        ("infiniband.bth.p_key", bth.partition_key().into()),
        ("infiniband.bth.destqp", bth.dest_qp().into()),
        ("infiniband.bth.a", bth.ack_req().into()),
        ("infiniband.bth.psn", bth.psn().get().into()),
    ]);
    fields.extend(below_the_bth(frame, packet));
    let headers = ExtendedHeaders::read(&SliceReader(frame), packet);
    if let Some(aeth) = headers.aeth {
        fields.insert("infiniband.aeth.syndrome", aeth.syndrome_byte().into());
        fields.insert("infiniband.aeth.msn", aeth.msn().into());
    }
    let atomic = headers.atomic_eth;
    // tshark gives the address and key of an atomic under the names of a RETH's.
    if let Some((va, key)) = headers
        .reth
        .map(|reth| (reth.virtual_address, reth.remote_key))
        .or(atomic.map(|atomic| (atomic.virtual_address, atomic.remote_key)))
    {
        fields.insert("infiniband.reth.va", va);
        fields.insert("infiniband.reth.r_key", key.into());
    }
    if let Some(reth) = headers.reth {
        fields.insert("infiniband.reth.dmalen", reth.dma_len.into());
    }
    if let Some(deth) = headers.deth {
        fields.insert("infiniband.deth.q_key", deth.queue_key.into());
        fields.insert("infiniband.deth.srcqp", deth.source_qp.into());
    }
    if let Some(atomic) = atomic {
        fields.insert("infiniband.atomiceth.swapdt", atomic.swap_or_add);
        fields.insert("infiniband.atomiceth.cmpdt", atomic.compare);
    }
    if let Some(answer) = headers.atomic_ack_eth {
        fields.insert("infiniband.atomicacketh.origremdt", answer.original);
    }
    if let Some(immediate) = headers.imm_dt {
        fields.insert("infiniband.immdt", immediate.0.into());
    }
    fields
}

fn below_the_bth(frame: &[u8], packet: &RocePacket) -> Decoded {
    let mut fields = Decoded::new();
    let class = u64::from(packet.traffic_class.0);
    let tags = packet.vlans;
    let network: [u8; 8] = SliceReader(frame).read(packet.network_offset).expect("it was parsed");
    let is_v4 = network[0] >> 4 == 4;
    if packet.version == RoceVersion::V1 {
        fields.insert("infiniband.grh.tclass", class);
        return fields;
    }
    fields.insert("udp.srcport", packet.source_port.into());
    let opcode = packet.bth.opcode();
    let rest = packet.payload_bytes + u32::from(packet.bth.pad_count()) + 4;
    fields.insert("udp.length", u64::from(rest) + 8 + 12 + opcode.extended_len() as u64);
    if is_v4 {
        fields.insert("ip.dsfield", class);
        fields.insert("ip.len", u64::from(packet.wire_bytes) - 14 - tags.len() as u64);
    } else {
        fields.insert("ipv6.tclass", class);
        fields.insert("ipv6.flow", Ipv6::from_bytes(network).flow_label().into());
    }
    // Of two tags tshark names the outer one ieee8021ad.
    if let Some(tag) = tags.inner().or(tags.outer()) {
        fields.insert("vlan.id", tag.id().into());
        fields.insert("vlan.priority", tag.pcp().into());
    }
    fields
}

fn parse(start: Option<NetworkStart>, data: &[u8]) -> Parsed {
    let frame = SliceReader(data);
    match start {
        Some(NetworkStart::Ethernet) => parse_ethernet(&frame),
        Some(NetworkStart::Payload { ether_type, offset }) => {
            parse_network(&frame, EtherType(ether_type), offset)
        }
        None => Parsed::NotRoce,
    }
}

/// Figures of all files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    /// Decoded by both.
    packets: usize,
    /// Single values that were compared.
    values: usize,
    /// RoCE that tshark takes for TFTP, because the UDP source port is 69, by file.
    tftp: BTreeMap<String, usize>,
    /// Decoded by tshark because the UDP source port is 4791, which means nothing.
    wrong_port: usize,
    /// To port 4791, but neither makes a packet of it.
    malformed: Vec<ParseReason>,
}

fn compare(name: &str, file: &Path, totals: &mut Totals) {
    let theirs = tshark(file);
    let mut reader = CaptureReader::open(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    for (number, theirs) in (1..).zip(&theirs) {
        let frame = reader.next_frame().unwrap_or_else(|error| panic!("{name}: {error}"));
        let frame = frame.unwrap_or_else(|| panic!("{name} ends before packet {number}"));
        let parsed = parse(network_layer(frame.link_type, frame.data), frame.data);
        let source_port = theirs.get("udp.srcport");
        match (parsed, theirs.contains_key(OPCODE)) {
            (Parsed::Roce(packet), true) => {
                let ours = fields(frame.data, &packet);
                assert_eq!(&ours, theirs, "packet {number} of {name}");
                totals.packets += 1;
                totals.values += theirs.len();
            }
            (Parsed::Roce(packet), false) => {
                assert_eq!(source_port, Some(&69), "packet {number} of {name}: {packet:?}");
                *totals.tftp.entry(name.to_owned()).or_default() += 1;
            }
            (Parsed::NotRoce, true) => {
                assert_eq!(source_port, Some(&4791), "packet {number} of {name}");
                totals.wrong_port += 1;
            }
            (Parsed::Malformed(reason), false) => totals.malformed.push(reason),
            (Parsed::NotRoce, false) => {}
            (Parsed::Malformed(reason), true) => panic!("packet {number} of {name}: {reason}"),
        }
    }
    assert_eq!(reader.packets(), theirs.len() as u64, "{name}");
    assert!(matches!(reader.next_frame(), Ok(None)), "{name} has more packets than tshark shows");
}

#[test]
fn tshark_reads_every_capture_alike() {
    let mut totals = Totals::default();
    let captures = captures();
    for file in &captures {
        let name = file.file_name().expect("a file").to_string_lossy();
        compare(&name, file, &mut totals);
    }
    assert!(captures.len() >= 45, "only {} captures", captures.len());
    assert!(totals.packets >= PACKETS, "only {} packets were compared", totals.packets);
    assert!(totals.values >= 416_046, "only {} values were compared", totals.values);

    let tftp = [
        ("hns_mixed.pcapng.gz", 4 * 37),
        ("hns_ns.pcapng.gz", 37),
        ("hns_raw.pcap.gz", 37),
        ("hns_scrubbed.pcap", 37),
        ("hns_scrubbed.pcapng", 37),
        ("hns_scrubbed_ns.pcap", 37),
        ("hns_sll.pcap.gz", 37),
        ("hns_sll2.pcap.gz", 37),
        ("hns_snap64.pcap.gz", 37),
    ];
    assert_eq!(totals.tftp, BTreeMap::from(tftp.map(|(name, count)| (name.to_owned(), count))));
    assert_eq!(totals.wrong_port, 1, "vector D07");
    assert_eq!(totals.malformed, [ParseReason::ShortBth, ParseReason::IpFragment], "D06, D08");
}
