#!/usr/bin/env python3
"""Quantizes one model by every method of `mscgym quantize` and prints a table.

Usage: experiments/quantize_methods/run.py MSCGYM [--samples N] [--test-samples N] [--only TEXT]
                                           [-- options of mscgym quantize, MODEL first]
Without options behind `--`: the shipped network, calibrated on Fashion-MNIST's training images and compared
on its 10,000 test images.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = "/usr/share/datasets/fashion-mnist/"
DEFAULT = [str(HERE.parent / "models/fashion_resnet.onnx"), "--mean", "0.286", "--std", "0.353",
           "--calibration", DATA + "train-images-idx3-ubyte.gz",
           "--test", DATA + "t10k-images-idx3-ubyte.gz",
           "--labels", DATA + "t10k-labels-idx1-ubyte.gz"]

# The exit code of mscgym for results that its guard marks.
SUSPICIOUS = 3
FITTED = "--grid mse --rounding descent --reconstruct"
ROWS = [
    (f"W{bits}A8", f"--bits {bits} " + options)
    for bits in (4, 3, 2)
    for options in ("--method minmax", "--method mse --grid mse",
                    "--method mse --grid mse --rounding gptq --correct-bias",
                    "--method mse " + FITTED)
] + [
    ("W8A8", "--method minmax"),
    ("W8A8", "--method percentile"),
    ("W8A8", "--method entropy"),
    ("W8A8", "--method mse"),
    ("W8A8", "--method mse --equalize"),
    ("W8A8", "--method mse --smooth"),
    ("W8A8", "--method mse --correct-bias"),
    ("W8A8", "--method mse " + FITTED),
    ("W7A8", "--bits 7 --method mse"),
    ("W4", "--activations f32 --bits 4"),
    ("W4", "--activations f32 --bits 4 " + FITTED),
    ("W3A8", "--bits 3 --method mse --grid mse --equalize"),
    ("W3A8", "--bits 3 --method mse --grid mse --correct-bias"),
    ("W3A8", "--bits 3 --method mse --grid mse --rounding descent --correct-bias"),
]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mscgym")
    parser.add_argument("--samples", default="512")
    parser.add_argument("--test-samples", default="0")
    parser.add_argument("--only", default="")
    given = sys.argv[1:]
    model = DEFAULT
    if "--" in given:
        model = given[given.index("--") + 1:]
        given = given[:given.index("--")]
    arguments = parser.parse_args(given)
    print("| bits | options | distillation loss, nats | same class | accuracy |\n|---|---|---|---|---|")
    for bits, options in ROWS:
        if arguments.only not in bits + " " + options:
            continue
        done = subprocess.run(
            [arguments.mscgym, "quantize", *model, "--samples", arguments.samples, "--no-speed", "--keep-f32", "none",
             "--test-samples", arguments.test_samples, "--json", *options.split(),
             *([] if "--rounding" in options else ["--rounding", "nearest"]),
             *([] if "--affine" in options.split() else ["--symmetric"])],
            stdout=subprocess.PIPE, check=False)
        if done.returncode not in (0, SUSPICIOUS):
            sys.exit(done.returncode)
        quality = json.loads(done.stdout)["quality"]
        accuracy = f"{100 * quality['accuracy']:.2f} %" if "accuracy" in quality else "-"
        losses = {name: loss["value"] for name, loss in quality["losses"].items()}
        print(f"| {bits} | `{options}` | {losses['distill_loss']:.5f} | {100 - losses['disagreement']:.2f} % | "
              f"{accuracy} |", flush=True)


if __name__ == "__main__":
    main()
