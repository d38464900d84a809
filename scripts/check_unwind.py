#!/usr/bin/env python3
"""Checks that an exception can pass through every function of linked programs.

Usage: check_unwind.py PROGRAM...

The unwinder finds a function's entry in .eh_frame through the sorted table in .eh_frame_hdr. Of two entries
that begin at one address LLD 14 keeps one in that table, and GCC 12 makes functions of no bytes (the .cold half
of a function of which nothing is cold). Where the entry of such a one is kept, an exception through the
function that follows it calls std::terminate.

Prints one line a function that the table does not lead to and exits with 1 if there is any. Reads 64-bit
little-endian ELF, whose tables have the encodings that GCC and Clang write on Linux.
"""

import bisect
import struct
import subprocess
import sys

PC_RELATIVE, DATA_RELATIVE = 0x10, 0x30
# DW_EH_PE_*: the lower half of an encoding -> code of the module struct.
FORMATS = {0x00: "<Q", 0x03: "<I", 0x04: "<Q", 0x0B: "<i", 0x0C: "<q"}


class Refused(Exception):
    """The file is not what this script reads."""


class Elf:
    """The sections and symbols of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise Refused("is not a 64-bit little-endian ELF file")
        offset, = struct.unpack_from("<Q", self.bytes, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, offset + i * size) for i in range(count)]
        strings = headers[names][4]
        self.sections = {self.text(strings + header[0]): header for header in headers}

    def text(self, offset):
        return self.bytes[offset:self.bytes.index(b"\0", offset)].decode()

    def section(self, name):
        """Address and bytes."""
        if name not in self.sections:
            raise Refused(f"has no section {name}")
        header = self.sections[name]
        return header[3], self.bytes[header[4]:header[4] + header[5]]

    def function_at(self, address):
        """The name of the function of some bytes there, or its address."""
        if ".symtab" in self.sections:
            header = self.sections[".symtab"]
            strings = self.sections[".strtab"][4]
            for at in range(header[4], header[4] + header[5], 24):
                name, kind, _, _, value, size = struct.unpack_from("<IBBHQQ", self.bytes, at)
                if value == address and size > 0 and kind & 0xF == 2:
                    return self.text(strings + name)
        return f"the function at 0x{address:x}"


def read_pointer(data, at, encoding, here, start_of_table):
    """The pointer at an offset, and the offset behind it. `here` is the address of offset 0."""
    if encoding & 0x0F not in FORMATS or encoding & 0x80:
        raise Refused(f"has a pointer of encoding 0x{encoding:x}")
    form = FORMATS[encoding & 0x0F]
    value, = struct.unpack_from(form, data, at)
    if encoding & 0x70 == PC_RELATIVE:
        value += here + at
    elif encoding & 0x70 == DATA_RELATIVE:
        value += start_of_table
    return value, at + struct.calcsize(form)


def skip_leb128(data, at):
    while data[at] & 0x80:
        at += 1
    return at + 1


def encoding_of(data, at):
    """How the entries write addresses whose common part (CIE) begins at an offset."""
    at += 9
    end = data.index(b"\0", at)
    augmentation = data[at:end].decode()
    at = skip_leb128(data, skip_leb128(data, end + 1)) + 1  # alignments; the return register
    if not augmentation.startswith("z"):
        return 0x00
    at = skip_leb128(data, at)
    for letter in augmentation[1:]:
        if letter == "R":
            return data[at]
        if letter == "P":
            _, at = read_pointer(data, at + 1, data[at] & 0x0F, 0, 0)
        elif letter == "L":
            at += 1
    return 0x00


def functions(elf):
    """Start, size and place of the entry, of every function with an entry in .eh_frame."""
    address, data = elf.section(".eh_frame")
    encodings = {}
    at = 0
    while at + 4 <= len(data):
        length, = struct.unpack_from("<I", data, at)
        if length == 0:
            break
        if length == 0xFFFFFFFF:
            raise Refused("has an entry of more than 4 GiB")
        common, = struct.unpack_from("<I", data, at + 4)
        if common != 0:
            cie = at + 4 - common
            if cie not in encodings:
                encodings[cie] = encoding_of(data, cie)
            start, behind = read_pointer(data, at + 8, encodings[cie], address, 0)
            size, _ = read_pointer(data, behind, encodings[cie] & 0x0F, 0, 0)
            yield start, size, address + at
        at += 4 + length


def table(elf):
    """What the unwinder searches: sorted starts, and the entries that they lead to."""
    address, data = elf.section(".eh_frame_hdr")
    version, of_frame, of_count, of_table = data[:4]
    if version != 1 or of_count == 0xFF or of_table != DATA_RELATIVE | 0x0B:
        raise Refused("has no table of unwind entries to search")
    _, at = read_pointer(data, 4, of_frame, address, address)
    count, at = read_pointer(data, at, of_count, address, address)
    rows = [(start + address, entry + address) for start, entry in struct.iter_unpack("<ii", data[at:at + 8 * count])]
    return [row[0] for row in rows], [row[1] for row in rows]


def lost(elf):
    """Addresses of the functions that the table does not lead to."""
    starts, entries = table(elf)
    sizes = {}
    known = []
    for start, size, entry in functions(elf):
        sizes[entry] = (start, size)
        known.append((start, size))
    for start, size in known:
        if size == 0:
            continue
        found = bisect.bisect_right(starts, start) - 1
        first, length = sizes.get(entries[found], (0, 0)) if found >= 0 else (0, 0)
        if not first <= start < first + length:
            yield start


def readable(name):
    try:
        return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return name


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    failed = False
    for path in sys.argv[1:]:
        try:
            elf = Elf(path)
            names = [readable(elf.function_at(address)) for address in lost(elf)]
        except (Refused, OSError) as error:
            sys.exit(f"check_unwind: {path}: {error}")
        for name in names:
            print(f"{path}: an exception through {name} ends the program: the linker dropped its unwind entry")
        failed = failed or bool(names)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
