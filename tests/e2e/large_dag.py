#!/usr/bin/env python3
"""A generated DAG of many nodes, and costs for what mscgym would do with it.

    large_dag.py model NODES OUT.onnx       chains, branches that join, shortcuts, several outputs
    large_dag.py costs LIST.json OUT.json   a cost for each row that --dry-run --json listed

The same arguments give the same bytes.
"""

import json
import random
import sys
import zlib

import onnx_bytes as onnx

DIMS = [1, 4, 4, 4]


def model(nodes):
    source = random.Random(nodes)
    body = []
    read = set()

    def operand(i):
        """The value in front, or one a little before it."""
        back = 1 if source.random() < 0.85 else source.randint(2, 6)
        name = f"v{max(i - back, 0)}"
        read.add(name)
        return name

    for i in range(1, nodes + 1):
        op = source.choice(["Conv", "Relu", "Add", "Sigmoid", "MaxPool"])
        if op == "Conv":
            body.append(onnx.node(op, [operand(i), f"w{i % 7}"], f"v{i}",
                                  onnx.ints("kernel_shape", [1, 1]), name=f"n{i}"))
        elif op == "MaxPool":
            body.append(onnx.node(op, [operand(i)], f"v{i}", onnx.ints("kernel_shape", [3, 3]),
                                  onnx.ints("pads", [1, 1, 1, 1]), name=f"n{i}"))
        else:
            inputs = [operand(i)]
            if op == "Add":
                inputs.append(f"v{max(i - source.randint(2, 8), 0)}")
                read.add(inputs[1])
            body.append(onnx.node(op, inputs, f"v{i}", name=f"n{i}"))
    body.append(onnx.field(2, "dag"))
    body += [onnx.weights(f"w{k}", [4, 4, 1, 1], source) for k in range(7)]
    body.append(onnx.field(11, onnx.value("v0", 1, DIMS)))
    body += [onnx.field(12, onnx.value(f"v{i}", 1, DIMS)) for i in range(1, nodes + 1)
             if f"v{i}" not in read]
    return onnx.model(b"".join(body))


def costs(rows):
    """Each target is good at some of the nodes; each further node of a region saves a little."""
    given = []
    for row in rows:
        target = row["target"].encode()
        each = [2 + zlib.crc32(target + b" " + name.encode()) % 1000 / 100 for name in row["nodes"]]
        saved = 0.98 ** min(len(each) - 1, 4)
        given.append({"target": row["target"], "nodes": row["nodes"],
                      "micros": round(1 + saved * sum(each), 3)})
    return given


def main():
    what, first, out = sys.argv[1:]
    if what == "model":
        with open(out, "wb") as file:
            file.write(model(int(first)))
        return
    with open(first, encoding="utf-8") as file:
        rows = json.load(file)["list"]
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"list": costs(rows)}, file)


if __name__ == "__main__":
    main()
