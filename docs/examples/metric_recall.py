"""Retrieval: for how many samples is the nearest other one of the same identity, in percent.

Usage, as a command of quality.metrics: python3 metric_recall.py IDENTITIES.txt
IDENTITIES.txt has one identity a line, for every sample of quality.data.
"""

import json
import sys

import numpy

with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
with open(sys.argv[1], encoding="utf-8") as file:
    identities = numpy.array(file.read().split())
first, count = manifest["first"], manifest["count"]
identities = identities[first:first + count]

vectors = numpy.load(manifest["outputs"][0]["file"]).reshape(count, -1)
vectors = vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
similarity = vectors @ vectors.T
numpy.fill_diagonal(similarity, -2)  # a sample does not find itself
found = identities[similarity.argmax(axis=1)] == identities

# A number for each sample, so that the search can say how certain their mean is.
print(json.dumps({"values": (100 * found).tolist()}))
