#!/usr/bin/env python3
"""Asks the kernel for its RDMA devices, ports and queue pairs, and writes the conversation as a capture file
(LINKTYPE_NETLINK, 253), each datagram as it was sent or received. usage: record.py FILE [DEVICE_INDEX...]"""
import socket, struct, sys, time

NETLINK_RDMA, NLDEV = 20, 5
GET, PORT_GET, RES_QP_GET = 1, 5, 10
out = open(sys.argv[1], "wb")
out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 20, 253))
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
s.bind((0, 0)); s.connect((0, 0)); s.settimeout(5)
seq = 0

def record(kind, data):
    data = struct.pack(">HHHQH", kind, 824, 0, 0, NETLINK_RDMA) + data
    now = time.time_ns() // 1000
    out.write(struct.pack("<IIII", now // 10**6, now % 10**6, len(data), len(data)) + data)

def dump(command, attributes=b""):
    global seq
    seq += 1
    request = struct.pack("=IHHII", 16 + len(attributes), NLDEV << 10 | command, 0x301, seq, 0) + attributes
    s.send(request); record(4, request)
    while True:
        answer = s.recv(32768); record(0, answer)
        at, end = 0, False
        while at + 16 <= len(answer):
            length, kind = struct.unpack_from("=IH", answer, at)
            if kind in (2, 3): return
            yield answer[at + 16:at + length]
            at += length + 3 & ~3

def index(message):
    at = 0
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == 1: return struct.unpack_from("=I", message, at + 4)[0]
        at += length + 3 & ~3

devices = [index(message) for message in dump(GET)]
devices = [int(text) for text in sys.argv[2:]] or devices
for device in devices:
    for command in (PORT_GET, RES_QP_GET):
        for _ in dump(command, struct.pack("=HHI", 8, 1, device)): pass
