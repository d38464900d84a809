"""What the onnx package and ONNX Runtime have to say about the files of exported_sets.

    PYTHON exported_sets.py FOLDER

Prints JSON: {"problems": [...], "lacks": {LABEL: [SET, ...]}, "counts": {SET: {"written", "refused", "ran", "lacks", "odd"}}}.
`lacks`: ONNX Runtime has no kernel; `odd`: it is known to compute something else. Wants the environment `peers` (scripts/peers).
"""
import json
import os
import pathlib
import sys

# ONNX Runtime 1.31.1 takes set 27 for one under development and loads no model of it without this.
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import checker, helper

KINDS = ("written", "refused", "ran", "lacks", "odd")
FLOATS = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.values = (self.path / "values").read_bytes()
        self.cases = json.loads((self.path / "cases.json").read_text())

    def array(self, tensor):
        kind = helper.tensor_dtype_to_np_dtype(tensor["type"])
        raw = self.values[tensor["at"]:tensor["at"] + tensor["bytes"]]
        return np.frombuffer(raw, kind).reshape(tensor["dims"]).copy()

    def model(self, label, opset):
        return (self.path / f"{label}@{opset}.onnx").read_bytes()


def bound(array, kind):
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, kind)


def run(model, inputs, outputs):
    """The outputs as bytes of tensors; raises what ONNX Runtime raises."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array, kind in inputs:
        binding.bind_ortvalue_input(name, bound(array, kind))
    # Views of buffers of ours, because NumPy has no bf16 to give results in.
    found = [np.zeros(array.shape, array.dtype) for _, array, _ in outputs]
    for (name, _, kind), array in zip(outputs, found):
        binding.bind_ortvalue_output(name, bound(array, kind))
    session.run_with_iobinding(binding)
    return found


def differs(found, wanted, tolerance):
    if found.dtype not in FLOATS:
        return not np.array_equal(found, wanted)
    return not np.allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance, equal_nan=True)


def checked(model):
    """What the onnx package has against a model; empty if nothing."""
    try:
        checker.check_model(onnx.load_from_string(model), full_check=True)
    except (checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return f"onnx: {error}"
    return ""


def ran(case, model, given, wanted):
    """One of KINDS, and what is wrong with a run."""
    try:
        found = run(model, given, wanted)
    except Exception as error:  # its exceptions share no class but this one
        if "NOT_IMPLEMENTED" in str(error) or "Could not find an implementation" in str(error):
            return "lacks", ""
        return "odd" if case["odd_in_ort"] else "ran", f"ONNX Runtime: {error}"
    wrong = [name for (name, array, _), one in zip(wanted, found) if differs(one, array, case["tolerance"])]
    return "odd" if case["odd_in_ort"] else "ran", f"{wrong} differ from the reference kernel's" if wrong else ""


def main():
    ort.set_default_logger_severity(4)
    folder = Folder(sys.argv[1])
    problems, lacks, counts = [], {}, {}
    for case in folder.cases:
        given, wanted = ([(one["name"], folder.array(one), one["type"]) for one in case[part]] for part in ("inputs", "outputs"))
        for opset, refusal in case["sets"].items():
            count = counts.setdefault(opset, dict.fromkeys(KINDS, 0))
            if refusal:
                count["refused"] += 1
                continue
            count["written"] += 1
            model = folder.model(case["label"], opset)
            invalid = checked(model)
            kind, wrong = ("", "") if invalid else ran(case, model, given, wanted)
            if kind:
                count[kind] += 1
            if kind == "lacks":
                lacks.setdefault(case["label"], []).append(int(opset))
            # What is known as odd must be so: its row would go once ONNX Runtime computes it.
            expected = kind == "odd"
            if invalid or bool(wrong) != expected:
                problems.append(f"{case['label']} at set {opset}: {invalid or wrong or 'is no longer odd in ONNX Runtime'}")
    print(json.dumps({"problems": problems, "lacks": lacks, "counts": counts}))


if __name__ == "__main__":
    main()
