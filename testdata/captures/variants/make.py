#!/usr/bin/env python3
"""Makes the link type variants of ../derived/hns_scrubbed.pcap next to this file.

sll, sll2: the 14-byte Ethernet header becomes a Linux cooked header as libpcap writes it on the
"any" device. The others are made with editcap and mergecap of Wireshark. Nothing else changes.
"""
import gzip
import pathlib
import platform
import struct
import subprocess

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent / "derived" / "hns_scrubbed.pcap"


def save(name, data):
    (HERE / name).write_bytes(gzip.compress(data, 9, mtime=0))


def cooked(link_type, make_header):
    data = SOURCE.read_bytes()
    out = bytearray(data[:20] + struct.pack("<I", link_type))
    at = 24
    while at < len(data):
        sec, usec, captured, original = struct.unpack_from("<4I", data, at)
        frame = data[at + 16 : at + 16 + captured]
        header = make_header(frame[6:12], frame[12:14])
        grown = len(header) - 14
        out += struct.pack("<4I", sec, usec, captured + grown, original + grown) + header + frame[14:]
        at += 16 + captured
    return bytes(out)


def wireshark(tool, *arguments):
    """What `tool` writes to its last argument, run in this directory so that no path gets in."""
    subprocess.run([tool, *arguments], check=True, cwd=HERE)
    output = HERE / "made.tmp"
    data = output.read_bytes()
    output.unlink()
    # Not the kernel release of whoever runs this.
    release = platform.release().encode()
    return data.replace(release, b"-" * len(release))


# Packet type 0 (to us), ARPHRD_ETHER 1, address length 6, source address padded to 8, protocol.
save("hns_sll.pcap.gz", cooked(113, lambda mac, ether_type: struct.pack(">HHH", 0, 1, 6) + mac + b"\0\0" + ether_type))
# Protocol, reserved, interface index 2, ARPHRD_ETHER 1, packet type 0, address length 6, address.
save("hns_sll2.pcap.gz", cooked(276, lambda mac, ether_type: ether_type + struct.pack(">HIHBB", 0, 2, 1, 0, 6) + mac + b"\0\0"))

ETHERNET = "../derived/hns_scrubbed.pcap"
save("hns_raw.pcap.gz", wireshark("editcap", "-C", "14", "-L", "-T", "rawip", "-F", "pcap", ETHERNET, "made.tmp"))
save("hns_snap64.pcap.gz", wireshark("editcap", "-s", "64", "-F", "pcap", ETHERNET, "made.tmp"))
save("hns_ns.pcapng.gz", wireshark("editcap", "-F", "pcapng", "../derived/hns_scrubbed_ns.pcap", "made.tmp"))
merged = ["hns_sll2.pcap.gz", "hns_raw.pcap.gz", "hns_ns.pcapng.gz", "hns_sll.pcap.gz"]
save("hns_mixed.pcapng.gz", wireshark("mergecap", "-F", "pcapng", "-w", "made.tmp", *merged))
