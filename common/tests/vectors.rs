//! Published and built frames, field by field: every value that `testdata/vectors/roce_frames.json`
//! expects, and every value that its reference decoder gives.

use roce_common::wire::{
    Addresses, Aeth, Bth, ExtendedHeaders, IcrcCheck, Ipv6, Nak, ParseReason, Parsed,
    RNR_TIMER_MICROSECONDS, RocePacket, RoceVersion, SliceReader, Syndrome, VlanTag, check_icrc,
    parse_ethernet, parse_usual,
};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/vectors/roce_frames.json");

/// What the parser has no use for: checksums, TTL, next header, and what another program computed.
const NOT_READ: [&str; 4] = ["ip_csum", "hop", "nxthdr", "icrc_calc"];

fn vectors() -> Vec<Value> {
    let text = std::fs::read_to_string(PATH).expect("the vectors");
    serde_json::from_str(&text).expect("an array of vectors")
}

fn frame(vector: &Value) -> Vec<u8> {
    let hex = vector["hex"].as_str().expect("the frame in hex");
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn parse(id: &str) -> Parsed {
    let vectors = vectors();
    let vector = vectors.iter().find(|vector| vector["id"] == id).expect("a vector");
    parse_ethernet(&SliceReader(&frame(vector)))
}

/// Everything the parser says of a packet, under the names that the vectors use.
fn fields(frame: &[u8], packet: &RocePacket) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    let bth = packet.bth;
    set("opcode", json!(bth.opcode().0));
    set("opname", json!(name(packet)));
    set("se", json!(u8::from(bth.solicited_event())));
    set("m", json!(u8::from(bth.mig_req())));
    set("migreq", json!(u8::from(bth.mig_req())));
    set("padcnt", json!(bth.pad_count()));
    set("tver", json!(bth.transport_version()));
    set("pkey", json!(bth.partition_key()));
    set("fecn", json!(u8::from(bth.fecn())));
    set("becn", json!(u8::from(bth.becn())));
    set("dqpn", json!(bth.dest_qp()));
    set("ackreq", json!(u8::from(bth.ack_req())));
    set("psn", json!(bth.psn().get()));
    set("next_psn", json!(bth.psn().plus(1).get()));
    set("tos", json!(packet.traffic_class.0));
    set("tclass", json!(packet.traffic_class.0));
    set("dscp", json!(packet.traffic_class.dscp()));
    set("ecn", json!(packet.traffic_class.0 & 3));
    set("sport", json!(packet.source_port));
    set("payload_len", json!(packet.payload_bytes));

    let (proto, [source, destination]) = network(frame, packet);
    set("proto", json!(proto));
    for (names, address) in [(["src", "sgid"], source), (["dst", "dgid"], destination)] {
        for name in names {
            set(name, json!(address));
        }
    }
    let tags = [packet.vlans.outer(), packet.vlans.inner()];
    let tags = tags.iter().flatten();
    let ids: Vec<_> = tags.clone().map(|tag| tag.id()).collect();
    let network_len = packet.wire_bytes as usize - 14 - 4 * ids.len();
    set("vlan", json!(ids.first()));
    set("vlans", json!(ids));
    set("pcp", json!(packet.vlans.outer().map(VlanTag::pcp)));
    set("tags", tags.map(|tag| json!({"pcp": tag.pcp(), "vid": tag.id()})).collect());
    set("ip_len", json!(network_len));
    set("paylen", json!(network_len - 40 * usize::from(proto == "rocev1")));

    let head = Bth::LEN + bth.opcode().extended_len();
    let tail = packet.payload_bytes as usize + usize::from(bth.pad_count());
    set("udp_len", json!(8 + head + tail + 4));
    let icrc = packet.bth_offset + head + tail;
    let icrc = frame[icrc..].iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    set("icrc", json!(icrc));
    set("icrc_wire", json!(icrc));
    let is_good = check_icrc(frame, packet) == IcrcCheck::Good;
    set("icrc_valid", json!(is_good));
    set("icrc_ok", json!(is_good));

    let network = &frame[packet.network_offset..];
    let network = Ipv6::from_bytes(network[..8].try_into().expect("eight bytes"));
    set("flow_label", json!(network.flow_label()));
    let headers = ExtendedHeaders::read(&SliceReader(frame), packet);
    if let Some(reth) = headers.reth {
        set("va", json!(reth.virtual_address));
        set("rkey", json!(reth.remote_key));
        set("dmalen", json!(reth.dma_len));
    }
    if let Some(aeth) = headers.aeth {
        fields.extend(acknowledgement(aeth));
    }
    fields
}

fn name(packet: &RocePacket) -> String {
    let opcode = packet.bth.opcode();
    match (opcode.transport().name(), opcode.operation().name()) {
        ("CNP", name) => name.to_owned(),
        (transport, name) => format!("{transport}_{name}"),
    }
}

fn network(frame: &[u8], packet: &RocePacket) -> (&'static str, [IpAddr; 2]) {
    match packet.addresses(&SliceReader(frame)).expect("the frame that was parsed") {
        Addresses::V4 { source, destination } => {
            ("rocev2-ipv4", [source.into(), destination.into()])
        }
        Addresses::V6 { source, destination } => {
            let v1 = packet.version == RoceVersion::V1;
            (if v1 { "rocev1" } else { "rocev2-ipv6" }, [source.into(), destination.into()])
        }
    }
}

fn acknowledgement(aeth: Aeth) -> Map<String, Value> {
    let mut fields = json!({
        "syndrome": aeth.syndrome_byte(),
        "msn": aeth.msn(),
        "value": aeth.syndrome_byte() & 0x1f,
    });
    match aeth.syndrome() {
        Syndrome::Ack { credit_code } => {
            fields["kind"] = json!("ACK");
            assert_eq!(credit_code, aeth.syndrome_byte());
        }
        Syndrome::RnrNak { timer_code } => {
            fields["kind"] = json!("RNR_NAK");
            fields["timer_code"] = json!(timer_code);
            let microseconds = RNR_TIMER_MICROSECONDS[usize::from(timer_code)];
            fields["timer_ms"] = json!(f64::from(microseconds) / 1000.0);
        }
        Syndrome::Nak(nak) => {
            fields["kind"] = json!("NAK");
            fields["nak"] = json!(nak.name());
        }
        Syndrome::Reserved(_) => fields["kind"] = json!("RESERVED"),
    }
    fields.as_object().cloned().expect("an object")
}

/// An expected value as [`fields`] would say it.
fn normalised(name: &str, value: &Value) -> (String, Value) {
    let name = match (name, value) {
        ("opcode", Value::String(text)) if !text.starts_with("0x") => "opname",
        ("vlan", Value::Array(_)) => "tags",
        (name, _) => name,
    };
    let Value::String(text) = value else { return (name.to_owned(), value.clone()) };
    let value = match (name, text.strip_prefix("0x")) {
        (_, Some(digits)) => json!(u64::from_str_radix(digits, 16).expect("hex digits")),
        ("src" | "dst" | "sgid" | "dgid", None) => {
            json!(text.parse::<IpAddr>().expect("an address"))
        }
        ("proto", None) => json!(text.to_lowercase()),
        ("opname", None) => json!(full_name(text)),
        ("nak", None) => json!(nak_name(text)),
        _ => value.clone(),
    };
    (name.to_owned(), value)
}

/// The IBTA name for one that the vectors shorten.
fn full_name(short: &str) -> &str {
    match short {
        "RC_ACK" => "RC_ACKNOWLEDGE",
        "RC_READ_REQ" => "RC_RDMA_READ_REQUEST",
        "RC_WRITE_ONLY" => "RC_RDMA_WRITE_ONLY",
        name => name,
    }
}

fn nak_name(short: &str) -> &'static str {
    let nak = match short {
        "PSN_SEQ_ERR" => Nak::PsnSequenceError,
        "INVALID_REQUEST" => Nak::InvalidRequest,
        "REMOTE_ACCESS" => Nak::RemoteAccessError,
        "REMOTE_OPERATIONAL" => Nak::RemoteOperationalError,
        "INVALID_RD_REQUEST" => Nak::InvalidRdRequest,
        other => panic!("no NAK is called {other}"),
    };
    nak.name()
}

/// Compares `expected` with what was read, and says how many values were.
fn compare(id: &str, expected: &Value, read: &Map<String, Value>) -> usize {
    let mut compared = 0;
    for (name, value) in expected.as_object().expect("an object of fields") {
        if value.is_object() {
            compared += compare(id, value, read);
        } else if !NOT_READ.contains(&name.as_str()) {
            let (name, value) = normalised(name, value);
            assert_eq!(read.get(&name), Some(&value), "{name} of {id}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn the_usual_packets_are_read_the_short_way() {
    let mut usual = 0;
    for vector in vectors() {
        let frame = frame(&vector);
        let Parsed::Roce(packet) = parse_ethernet(&SliceReader(&frame)) else { continue };
        let is_usual = matches!(packet.addresses(&SliceReader(&frame)), Some(Addresses::V4 { .. }))
            && packet.bth_offset == packet.network_offset + 28
            && packet.vlans.inner().is_none()
            && !packet.bth.opcode().has_deth()
            && !packet.is_first_fragment
            && !packet.lacks_headers();
        let short = parse_usual(&SliceReader(&frame));
        assert_eq!(short, is_usual.then_some(Parsed::Roce(packet)), "{}", vector["id"]);
        usual += usize::from(is_usual);
    }
    assert!(usual >= 15, "{usual} usual vectors");
}

#[test]
fn every_expected_field_of_every_packet() {
    let (mut packets, mut compared) = (0, 0);
    for vector in vectors() {
        let id = vector["id"].as_str().expect("an id");
        if ["D06", "D07", "D08"].contains(&id) {
            continue;
        }
        let frame = frame(&vector);
        let Parsed::Roce(packet) = parse_ethernet(&SliceReader(&frame)) else {
            panic!("{id} is a RoCE packet")
        };
        let read = fields(&frame, &packet);
        compared += compare(id, &vector["expect"], &read);
        compared += compare(id, &vector["decoder_output"], &read);
        assert_eq!(read["icrc_ok"], vector["icrc_verified"], "{id}");
        packets += 1;
    }
    assert_eq!(packets, 19, "22 vectors, of which three are no RoCE packets");
    assert!(compared >= 450, "only {compared} values were compared");
}

#[test]
fn what_is_no_packet_has_its_reason() {
    assert_eq!(parse("D06"), Parsed::Malformed(ParseReason::ShortBth), "UDP without payload");
    assert_eq!(ParseReason::ShortBth.name(), "short_bth");
    assert_eq!(parse("D07"), Parsed::NotRoce, "4791 is the source port");
    assert_eq!(parse("D08"), Parsed::Malformed(ParseReason::IpFragment), "a later fragment");
}

#[test]
fn syndromes_of_real_nics_are_acknowledgements() {
    for (id, credit_code) in [("V05", 0), ("V09", 0), ("V13", 6)] {
        let Parsed::Roce(packet) = parse(id) else { panic!("{id} is a RoCE packet") };
        let syndrome = packet.aeth().map(|aeth| aeth.syndrome());
        assert_eq!(syndrome, Some(Syndrome::Ack { credit_code }), "{id}");
    }
}
