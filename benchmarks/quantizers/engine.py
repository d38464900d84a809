"""Saves the outputs of `mscgym run` with the strategy that `mscgym quantize` wrote: those that its losses are about.

    engine.py FOLDER NAME MSCGYM TARGET

writes NAME/engine/output_I.npy. Models that leave only the batch open are run 20 samples a call, others one: a strategy
is for the shape that it was made with.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
import networks  # noqa: E402

BATCH = 20


def is_open(network):
    return not network.fixed and not network.shape


def arrays_of(folder, name):
    """The inputs of all test samples, in the model's order."""
    found = np.load(networks.samples_file(folder, name, "test"), mmap_mode="r")
    return [found[key] for key in found.files] if isinstance(found, np.lib.npyio.NpzFile) else [found]


def words_of(folder, name, mscgym, target, count):
    network = networks.NETWORKS[name]
    words = [mscgym, "run", str(networks.model_file(folder, name)), "--strategy", str(folder / name / "ours.json"),
             "--target", target, "--threads", "1"]
    if is_open(network):
        return [*words, "--batch", str(count)]
    return [*words, "--shape", network.shape] if network.shape else words


def outputs(words, arrays, scratch):
    for i, array in enumerate(arrays):
        np.save(scratch / f"input_{i}.npy", array)
        words = [*words, "--input", str(scratch / f"input_{i}.npy")]
    subprocess.run([*words, "--out", str(scratch / "out")], check=True, capture_output=True, text=True)
    return [np.load(file) for file in sorted((scratch / "out").glob("output_*.npy"))]


def main(folder, name, mscgym, target):
    arrays, batches = arrays_of(folder, name), []
    total, at = len(arrays[0]), 0
    batch = BATCH if is_open(networks.NETWORKS[name]) else 1
    while at < total:
        count = min(batch, total - at)
        with tempfile.TemporaryDirectory() as scratch:
            part = [np.ascontiguousarray(array[at:at + count]) for array in arrays]
            batches.append(outputs(words_of(folder, name, mscgym, target, count), part, pathlib.Path(scratch)))
        at += count
    target_folder = folder / name / "engine"
    target_folder.mkdir(exist_ok=True)
    for i, parts in enumerate(zip(*batches)):
        np.save(target_folder / f"output_{i}.npy", np.concatenate(parts))
    (target_folder / "run.json").write_text(json.dumps({"batch": batch}))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit((error.stderr.strip() or str(error)).splitlines()[-1])
