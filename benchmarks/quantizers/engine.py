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


def arrays_of(folder, name, part="test"):
    """The inputs of all samples of a part, in the model's order."""
    found = np.load(networks.samples_file(folder, name, part), mmap_mode="r")
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


def joined(words_of_count, arrays, batch):
    """Every output over all samples; words_of_count(N) is the `mscgym run` that takes N samples.

    Arrays of another length than the first are the same for all.
    """
    batches, total = [], len(arrays[0])
    for at in range(0, total, batch):
        part = [np.ascontiguousarray(array[at:at + batch] if len(array) == total else array) for array in arrays]
        with tempfile.TemporaryDirectory() as scratch:
            batches.append(outputs(words_of_count(len(part[0])), part, pathlib.Path(scratch)))
    return [np.concatenate(parts) for parts in zip(*batches)]


def main(folder, name, mscgym, target):
    batch = BATCH if is_open(networks.NETWORKS[name]) else 1
    found = joined(lambda count: words_of(folder, name, mscgym, target, count), arrays_of(folder, name), batch)
    target_folder = folder / name / "engine"
    target_folder.mkdir(exist_ok=True)
    for i, array in enumerate(found):
        np.save(target_folder / f"output_{i}.npy", array)
    (target_folder / "run.json").write_text(json.dumps({"batch": batch}))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit((error.stderr.strip() or str(error)).splitlines()[-1])
