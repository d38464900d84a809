"""ONNX models as bytes, so that tests need no package that writes them."""

import struct


def varint(number):
    out = b""
    while True:
        rest = number >> 7
        out += bytes([number & 0x7F | (0x80 if rest else 0)])
        number = rest
        if not rest:
            return out


def field(number, value):
    """Of a protobuf message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def weights(name, dims, source):
    count = 1
    for d in dims:
        count *= d
    values = struct.pack(f"<{count}f", *(source.gauss(0, 1) for _ in range(count)))
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) +
                 field(9, values))


def value(name, dtype, dims):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def ints(name, values):
    """An attribute."""
    return field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7)


def node(op, inputs, output, *attributes, name=None):
    return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) +
                 field(3, name or op) + field(4, op) + b"".join(field(5, a) for a in attributes))


def model(graph, opset=17):
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))
