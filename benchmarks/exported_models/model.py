"""One model that an exporter writes: what the catalogues of *_models.py consist of.

They are read without the packages of the exporter, for the list of names: functions import these themselves.
"""
import dataclasses
import json
import pathlib
import typing

SEED = 7


@dataclasses.dataclass(frozen=True)
class Model:
    """A model, and how it is exported and judged."""
    title: str
    # Returns what the exporter takes; the modules of the catalogues say what.
    make: typing.Callable
    # Options of the exporter, such as opset.
    export: dict = dataclasses.field(default_factory=dict)
    # Options of `mscgym run`, `export` and `bench`, such as ["--shape", "sr:=16000"].
    options: tuple = ()
    # The largest difference to ONNX Runtime that counts as equal, as a share of an output's range.
    most_apart: float = 1e-4
    # What mscgym says where it is right to refuse the model; None if it has to run.
    refusal: str | None = None
    # The outputs are rows of objects, sorted by scores: where these are nearly equal, either order is right.
    rows: bool = False
    # Whether bench can time it: not where a run alone decides the sizes.
    timed: bool = True


def write_inputs(folder, arrays):
    """One input_NUMBER.npy for each array, in the order of the model's inputs."""
    import numpy

    for old in folder.glob("input_*.npy"):
        old.unlink()
    for i, array in enumerate(arrays):
        numpy.save(folder / f"input_{i:02}.npy", array)


def write_versions(folder, exporter, opset, packages):
    """made.json: what wrote the model."""
    import importlib.metadata

    versions = {name: importlib.metadata.version(name) for name in packages}
    (folder / "made.json").write_text(json.dumps({"exporter": exporter, "opset": opset, "versions": versions}) + "\n")


def main(models, write):
    """The command line of a catalogue: NAME FOLDER writes FOLDER/model.onnx, inputs and made.json."""
    import sys

    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    write(models[name], folder)
