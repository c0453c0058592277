//! Writes the seeds of every fuzz target: one small named file for each shape of input.
//!
//! `cargo run --bin make_seeds` in this folder, after a shape was added here.

use anyhow::{Context, Result};
use roce_testkit::capture::{Format, PcapWriter, PcapngWriter};
use roce_testkit::packet::{Aeth, Ipv6Ext, Opcode, Packet, VlanTag, all_opcodes};
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, frame) in frames()? {
        write(&corpus.join("parse_frame"), &name, &frame)?;
    }
    for (name, file) in files()? {
        write(&corpus.join("read_capture"), &name, &file)?;
    }
    for (name, log) in logs()? {
        write(&corpus.join("explain_log"), &name, &log)?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn over_ipv6(opcode: Opcode) -> Result<Packet> {
    Ok(Packet::new(opcode).ip("2001:db8::1".parse()?, "2001:db8::2".parse()?))
}

/// Frames: every opcode, and one of every shape below the BTH.
fn frames() -> Result<Vec<(String, Vec<u8>)>> {
    let mut frames: Vec<_> = all_opcodes()
        .iter()
        .map(|info| (info.name.to_lowercase(), Packet::new(info.code).payload_len(5)))
        .collect();
    let ack = || Packet::new(Opcode::RC_ACKNOWLEDGE).aeth(Aeth::nak(0, 7));
    let write = || Packet::new(Opcode::RC_RDMA_WRITE_ONLY_IMM).payload_len(5);
    let v6 = || over_ipv6(Opcode::RC_RDMA_WRITE_ONLY);
    let gid = "::ffff:192.0.2.1".parse()?;
    let chain = v6()?
        .ipv6_ext(Ipv6Ext::hop_by_hop(0))
        .ipv6_ext(Ipv6Ext::routing())
        .ipv6_ext(Ipv6Ext::destination_options(1))
        .ipv6_ext(Ipv6Ext::fragment(0, false, 9));
    for (name, packet) in [
        ("shape_vlan", ack().vlan(VlanTag::customer(100, 3))),
        ("shape_qinq", ack().vlan(VlanTag::service(10, 5)).vlan(VlanTag::customer(100, 3))),
        ("shape_ipv4_options", write().ip_options(vec![1; 12])),
        ("shape_ipv6", v6()?),
        ("shape_ipv6_chain", chain.clone()),
        ("shape_ipv6_chain_too_long", chain.ipv6_ext(Ipv6Ext::hop_by_hop(0))),
        ("shape_ipv6_first_fragment", v6()?.ipv6_ext(Ipv6Ext::fragment(0, true, 9))),
        ("shape_ipv6_later_fragment", v6()?.ipv6_ext(Ipv6Ext::fragment(8, true, 9))),
        ("shape_roce_v1", ack().roce_v1(gid, gid)),
        ("shape_first_fragment", write().ip_fragment(0, true)),
        ("shape_later_fragment", write().ip_fragment(8, false)),
        ("shape_other_port", write().udp_dest(53)),
        ("shape_bad_udp_length", write().force_udp_len(600)),
        ("shape_bad_ip_length", write().force_ip_len(8)),
        ("shape_bad_pad", ack().force_pad_count(3)),
        ("shape_bad_icrc", write().force_icrc([0; 4])),
        ("shape_bad_version", write().header_version(1)),
    ] {
        frames.push((name.to_owned(), packet));
    }
    Ok(frames.into_iter().map(|(name, packet)| (name, packet.build())).collect())
}

/// Capture files: both formats in their variants, and small files of the test data.
fn files() -> Result<Vec<(String, Vec<u8>)>> {
    let frames = [
        Packet::new(Opcode::RC_SEND_ONLY).payload_len(5).build(),
        Packet::new(Opcode::RC_ACKNOWLEDGE).build(),
    ];
    let mut files = Vec::new();
    for bits in 0..8 {
        let format = Format {
            nanoseconds: bits & 1 != 0,
            big_endian: bits & 2 != 0,
            snaplen: if bits & 4 == 0 { 262_144 } else { 60 },
            ..Format::default()
        };
        let name = format!(
            "{}_{}{}",
            if format.big_endian { "big_endian" } else { "little_endian" },
            if format.nanoseconds { "nanoseconds" } else { "microseconds" },
            if format.snaplen == 60 { "_cut" } else { "" },
        );
        let mut pcap = PcapWriter::new(Vec::new(), format)?;
        let mut pcapng = PcapngWriter::new(Vec::new(), format)?;
        for (nanos, frame) in (1_000_000_000..).zip(&frames) {
            pcap.write(nanos, frame)?;
            pcapng.write(nanos, frame)?;
        }
        files.push((format!("pcap_{name}"), pcap.finish()?));
        files.push((format!("pcapng_{name}"), pcapng.finish()?));
    }
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    for name in [
        "derived/pfc_frames.pcap",
        "lab/cm-reject-nolistener-v4.va.pcap.gz",
        "tcpdump/lldp_app_priority.pcap",
        "variants/hns_mixed.pcapng.gz",
        "variants/hns_raw.pcap.gz",
        "variants/hns_sll.pcap.gz",
        "variants/hns_sll2.pcap.gz",
        "vectors/roce_frames.pcap",
    ] {
        let bytes = fs::read(captures.join(name)).with_context(|| format!("cannot read {name}"))?;
        files.push((name.replace('/', "_"), bytes));
    }
    Ok(files)
}

/// Logs: the lines of every producer, and prefixes that launchers and containers put in front of them.
fn logs() -> Result<Vec<(String, Vec<u8>)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/logs/qp_errors.json");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&text)?;
    let mut logs = Vec::new();
    for entry in &entries {
        let id = entry["id"].as_str().context("an entry without id")?;
        let lines: Vec<String> = serde_json::from_value(entry["lines"].clone())?;
        logs.push((id.to_lowercase(), lines.join("\n").into_bytes()));
    }
    let error = "h:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 7, vendor err 129";
    for (name, prefix) in [
        ("prefix_mpirun", "[1,3]<stderr>:"),
        ("prefix_srun", "1000: [2026-02-02 12:15:56] "),
        ("prefix_torchrun", "[rank12]:"),
        ("prefix_container", "2026-11-29T12:00:00.123456789Z stderr F "),
        ("prefix_syslog", "Nov 29 12:00:00 node7 trainer[77]: "),
        ("prefix_kmsg", "3,1234,5678901,-;"),
    ] {
        logs.push((name.to_owned(), format!("{prefix}{error}\n{prefix}{error}").into_bytes()));
    }
    let docker = r#"{"log":"peer 10.0.0.1\u003c5\u003e: remote access error\n","stream":"stderr","time":"2026-11-29T12:00:00.1Z"}"#;
    logs.push(("prefix_docker".to_owned(), docker.as_bytes().to_vec()));
    Ok(logs)
}
