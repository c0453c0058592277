#!/usr/bin/env python3
"""Cuts the BTF of a kernel and its modules down to a few types; their numbers and offsets stay what they are.

usage: cut.py FOLDER OUT    FOLDER has vmlinux, ib_core, ib_uverbs and rdma_rxe as in /sys/kernel/btf

Every other type becomes a nameless forward declaration, every other string zeros, so that gzip makes little of it.
"""
import gzip
import struct
import sys
from pathlib import Path

STRUCTS = {"task_struct", "ib_device", "ib_qp", "ib_qp_attr", "ib_event", "rxe_qp"}
FUNCTIONS = {
    "ib_modify_qp_with_udata", "ib_modify_qp", "ib_destroy_qp_user", "__ib_qp_event_handler",
    "ib_uverbs_qp_event_handler", "rxe_qp_error",
}
INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, FUNC, PROTO, VAR, DATASEC, DECL_TAG, ENUM64 = (
    1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 17, 19)
ALIAS = {8, 9, 10, 11, 18}
BEHIND = {INT: 4, ARRAY: 12, VAR: 4, DECL_TAG: 4}
ENTRY = {STRUCT: 12, UNION: 12, DATASEC: 12, ENUM64: 12, ENUM: 8, PROTO: 8}


class Btf:
    def __init__(self, data, base=None):
        self.base = base
        _, _, _, header, type_off, type_len, str_off, str_len = struct.unpack_from("<HBBIIIII", data)
        self.strings = data[header + str_off:][:str_len]
        types = data[header + type_off:][:type_len]
        self.first_id = base.end_id if base else 1
        self.first_string = len(base.strings) if base else 0
        self.types = []
        place = 0
        while place < len(types):
            name, info, value = struct.unpack_from("<III", types, place)
            kind, entries = info >> 24 & 31, info & 0xFFFF
            length = BEHIND.get(kind, 0) + ENTRY.get(kind, 0) * entries
            self.types.append([name, info, value, types[place + 12:place + 12 + length]])
            place += 12 + length
        self.end_id = self.first_id + len(self.types)
        self.keep, self.shallow, self.names = set(), set(), {0}

    def owner(self, number):
        return self if number >= self.first_id else self.base

    def name(self, offset):
        if offset < self.first_string:
            return self.base.name(offset)
        text = self.strings[offset - self.first_string:]
        return text[:text.index(0)].decode()

    def use_name(self, offset):
        (self if offset >= self.first_string else self.base).names.add(offset)

    def mark(self, number, full):
        """Keeps a type: its members too if `full`, else of a struct only its name and size."""
        if number == 0:
            return
        own = self.owner(number)
        if own is not self:
            return own.mark(number, full)
        name, info, value, behind = self.types[number - self.first_id]
        kind = info >> 24 & 31
        if kind in (STRUCT, UNION) and not full:
            self.shallow.add(number)
            return self.use_name(name)
        if number in self.keep:
            return None
        self.keep.add(number)
        self.use_name(name)
        if kind in (PTR, FUNC) or kind in ALIAS:
            self.mark(value, kind == FUNC)
        elif kind == ARRAY:
            for inner in struct.unpack("<III", behind)[:2]:
                self.mark(inner, False)
        elif kind in (STRUCT, UNION):
            for member, inner, _ in struct.iter_unpack("<III", behind):
                self.use_name(member)
                self.mark(inner, self.name(member) == "" or self.name(member) == "element")
        elif kind == PROTO:
            self.mark(value, False)
            for parameter, inner in struct.iter_unpack("<II", behind):
                self.use_name(parameter)
                self.mark(inner, False)

    def mark_roots(self):
        for place, (name, info, _, _) in enumerate(self.types):
            kind, text = info >> 24 & 31, self.name(name)
            if kind == STRUCT and text in STRUCTS or kind == FUNC and text in FUNCTIONS:
                self.mark(self.first_id + place, True)

    def bytes(self):
        out = bytearray()
        for place, (name, info, value, behind) in enumerate(self.types):
            number, kind = self.first_id + place, info >> 24 & 31
            if number in self.keep and kind in (ENUM, ENUM64):
                out += struct.pack("<III", name, info & ~0xFFFF, value)
            elif number in self.keep:
                out += struct.pack("<III", name, info, value) + behind
            elif number in self.shallow:
                out += struct.pack("<III", name, info & ~0xFFFF, value)
            else:
                out += struct.pack("<III", 0, FWD << 24, 0)
        strings = bytearray(len(self.strings))
        for offset in self.names:
            place = offset - self.first_string
            if 0 <= place < len(strings):
                text = self.name(offset).encode()
                strings[place:place + len(text)] = text
        head = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(out), len(out), len(strings))
        return head + bytes(out) + bytes(strings)


def main(folder, out):
    kernel = Btf((folder / "vmlinux").read_bytes())
    parts = {"vmlinux": kernel}
    for module in ("ib_core", "ib_uverbs", "rdma_rxe"):
        parts[module] = Btf((folder / module).read_bytes(), kernel)
    for part in parts.values():
        part.mark_roots()
    out.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        (out / f"{name}.gz").write_bytes(gzip.compress(part.bytes(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
