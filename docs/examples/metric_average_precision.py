"""Boxes: average precision at an intersection over union of 0.5, in percent.

Usage, as a command of quality.metrics: python3 metric_average_precision.py BOXES.json
BOXES.json has a list of boxes [x0, y0, x1, y1] for every sample of quality.data. The model gives
rows of x0, y0, x1, y1, score. Of several classes, the mean of this is the mean average precision.
"""

import json
import sys

import numpy


def overlap(box, others):
    """Intersection over union of a box with each of the others."""
    sides = numpy.minimum(box[2:], others[:, 2:]) - numpy.maximum(box[:2], others[:, :2])
    shared = numpy.clip(sides, 0, None).prod(axis=1)
    area = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1)
    return shared / numpy.maximum(area - shared, 1e-12)


with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
with open(sys.argv[1], encoding="utf-8") as file:
    truth = json.load(file)[manifest["first"]:]

hits = []  # (score, whether it is a box that no other has found) of all samples
total = 0
for rows, wanted in zip(numpy.load(manifest["outputs"][0]["file"]), truth):
    wanted = numpy.array(wanted, dtype=float).reshape(-1, 4)
    free = numpy.ones(len(wanted), dtype=bool)
    total += len(wanted)
    for row in sorted(rows.tolist(), key=lambda row: -row[4]):
        overlaps = overlap(numpy.array(row[:4]), wanted) * free
        found = len(overlaps) > 0 and overlaps.max() >= 0.5
        if found:
            free[overlaps.argmax()] = False
        hits.append((row[4], found))

hits = numpy.array([found for _, found in sorted(hits, key=lambda hit: -hit[0])])
precision = hits.cumsum() / (numpy.arange(len(hits)) + 1)
best = numpy.maximum.accumulate(precision[::-1])[::-1]  # of this recall or more
# Scores of all samples are sorted together, so this is one number for all samples.
print(json.dumps({"value": 100 * float((best * hits).sum()) / max(total, 1)}))
