"""What needs NumPy, the onnx package and ONNX Runtime: reference outputs and how far others are from them.

    onnxruntime_side.py facts MODEL              inputs with their types and sizes, operators and set, as JSON
    onnxruntime_side.py run MODEL INPUTS OUT [plain]
                                                 OUT/output_NUMBER.npy, of INPUTS/input_*.npy, with all optimizations or none
    onnxruntime_side.py apart WANTED GOT [rows]  how far the outputs in GOT are from those in WANTED, as JSON; with `rows`,
                                                 the outputs describe one list of found objects
"""
import json
import os
import pathlib
import sys

# ONNX Runtime reports nothing to anybody.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np  # noqa: E402


def facts(file):
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = []
    for value in model.graph.input:
        if value.name not in constants:
            sizes = [size.dim_value if size.HasField("dim_value") else None for size in value.type.tensor_type.shape.dim]
            inputs.append({"name": value.name, "sizes": sizes})
    return {"inputs": inputs, "ir": model.ir_version, "nodes": len(model.graph.node),
            "sets": {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}}


def run(file, inputs, out, plain=""):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    arrays = [np.load(path) for path in sorted(pathlib.Path(inputs).glob("input_*.npy"))]
    names = [entry.name for entry in session.get_inputs()]
    if len(names) != len(arrays):
        raise ValueError(f"the model has {len(names)} inputs ({', '.join(names)}), the example {len(arrays)}")
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for i, found in enumerate(session.run(None, dict(zip(names, arrays)))):
        np.save(out / f"output_{i}.npy", found)


def distance(wanted, got):
    """(kind, largest difference): of floats as a share of the range, of others the share of values that differ."""
    if wanted.shape != got.shape:
        return f"sizes {list(got.shape)} instead of {list(wanted.shape)}", None
    if wanted.dtype.kind != "f":
        return "whole numbers", float(np.mean(wanted != got)) if wanted.size else 0.0
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(got)) or not np.array_equal(wanted[~finite], got[~finite], equal_nan=True):
        return "values that are not finite differ", None
    if not finite.any():
        return "floats", 0.0
    wanted, got = wanted[finite], got[finite]
    spread = float(wanted.max() - wanted.min()) or float(np.abs(wanted).max()) or 1.0
    return "floats", float(np.abs(wanted - got).max()) / spread


def reordered(wanted, got, window=3):
    """`got` with rows of objects exchanged where neighbours came in another order: detectors sort by scores, of which some
    differ by less than f32 rounds. A row moves by at most `window`."""
    if any(array.ndim == 0 or array.shape != other.shape or len(array) != len(wanted[0]) for array, other in zip(wanted, got)):
        return got

    def features(arrays):
        columns = [array.reshape(len(array), -1).astype(np.float64) / (np.ptp(array.astype(np.float64)) or 1) for array in arrays]
        return np.concatenate(columns, 1)
    old, new, order, free = features(wanted), features(got), [], list(range(len(got[0])))
    for i, row in enumerate(old):
        near = [k for k in free if abs(k - i) <= window] or free[:1]
        best = min(near, key=lambda k: np.abs(new[k] - row).max())
        order.append(best)
        free.remove(best)
    return [array[order] for array in got]


def apart(wanted, got, rows=""):
    files = sorted(pathlib.Path(wanted).glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
    arrays = [np.load(file) for file in files]
    others = [np.load(pathlib.Path(got) / file.name) if (pathlib.Path(got) / file.name).exists() else None for file in files]
    if rows and all(other is not None for other in others) and arrays:
        others = reordered(arrays, others)
    found = []
    for array, other in zip(arrays, others):
        kind, by = ("is absent", None) if other is None else distance(array, other)
        spread = float(np.ptp(array)) if array.size and array.dtype.kind == "f" else None
        found.append({"kind": kind, "apart": by, "sizes": list(array.shape), "range": spread})
    return found


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    answer = {"facts": facts, "run": run, "apart": apart}[command](*words)
    if answer is not None:
        print(json.dumps(answer))
