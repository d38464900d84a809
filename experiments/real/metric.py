"""Losses that a search limits and MSCGym does not have: programs as in docs/metrics.md.

    metric.py LOSS OUTPUT_0.npy ...    in the folder that MSCGym made; of f32 on the samples of the search

angle_error and rank_loss are one number for all samples, text_loss is one for each. All are 0 for f32.
"""
import json
import pathlib
import sys

import numpy as np

sys.dont_write_bytecode = True
import tasks  # noqa: E402,F401  (the path of truth.py)
import truth  # noqa: E402


def angle_error(wanted, got):
    return {"value": 100 * truth.relative_error(truth.angles(wanted), truth.angles(got))}


def rank_loss(wanted, got):
    return {"value": max(0.0, 1 - truth.score_sentences(wanted, got, {})[0]["Spearman"])}


def text_loss(wanted, got):
    pages = ([truth.text_boxes(page[0]) for page in array[0]] for array in (wanted, got))
    return {"values": [1 - truth.f1(a, b) for a, b in zip(*pages)]}


LOSSES = {"angle_error": angle_error, "rank_loss": rank_loss, "text_loss": text_loss}


def main(loss, files):
    manifest = json.loads(pathlib.Path("manifest.json").read_text())
    begin, end = manifest["first"], manifest["first"] + manifest["count"]
    wanted = [np.load(file, mmap_mode="r")[begin:end] for file in files]
    got = [np.load(entry["file"]) for entry in manifest["outputs"]]
    print(json.dumps(LOSSES[loss](wanted, got)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
