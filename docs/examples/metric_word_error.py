"""Text: words that a CTC model reads wrongly, in percent of the words that are there.

Usage, as a command of quality.metrics: python3 metric_word_error.py TEXTS.txt CHARACTERS.txt
TEXTS.txt has the text of one sample a line, for every sample of quality.data. CHARACTERS.txt has
the character of each class in one line, without class 0, which is the blank.
"""

import json
import sys

import numpy


def decoded(classes, characters):
    """Without repetitions and then without blanks."""
    kept = [c for i, c in enumerate(classes) if c > 0 and (i == 0 or c != classes[i - 1])]
    return "".join(characters[c - 1] for c in kept)


def edits(wanted, got):
    """Least number of insertions, deletions and replacements (Levenshtein distance)."""
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
with open(sys.argv[1], encoding="utf-8") as file:
    texts = file.read().split("\n")
with open(sys.argv[2], encoding="utf-8") as file:
    characters = file.read().split("\n")[0]
first = manifest["first"]

wrong = words = 0
outputs = numpy.load(manifest["outputs"][0]["file"])  # [samples, time, classes]
for text, classes in zip(texts[first:], outputs.argmax(axis=2).tolist()):
    wanted = text.split()
    wrong += edits(wanted, decoded(classes, characters).split())
    words += len(wanted)

# Long texts weigh more than short ones, so this is one number for all samples.
print(json.dumps({"value": 100 * wrong / max(words, 1)}))
