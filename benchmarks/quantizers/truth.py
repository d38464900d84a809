"""How good the outputs of a quantized model are, by NumPy on saved outputs alone: nothing of MSCGym has a part in it.

    truth.py FOLDER NAME VARIANT [REFERENCE]

prints JSON: `task`, the metrics of networks.py against the outputs of REFERENCE (f32 by default) and, where something is
known of the samples, against that; `losses`, the losses that `mscgym quantize` prints, by the definitions of
docs/quality.md. All are averaged over samples; of several outputs the worst counts.
"""
import json
import pathlib
import sys

import numpy as np
from scipy import ndimage, stats

sys.dont_write_bytecode = True
import networks  # noqa: E402

KEYS = networks.ROOT / "third_party/models/ppocr_keys.txt"
# Of YOLO and SSD: least score of a box that counts, and most overlap of two that stay; as mscgym's defaults.
LEAST_SCORE, MOST_OVERLAP = 0.25, 0.45
MATCH = 0.5


def mean_percent(wrong):
    return 100 * float(np.mean(wrong))


def relative_error(wanted, got):
    """Root mean squared error over the output's standard deviation."""
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    return float(np.sqrt(np.mean((got - wanted) ** 2) / wanted.var()))


# Classes and maps


def classes(wanted, got, axis=1):
    """Share of positions whose largest score moved, of each sample."""
    differs = wanted.argmax(axis) != got.argmax(axis)
    return differs.reshape(len(differs), -1).mean(1)


def score_classes(wanted, got, known):
    same = 1 - classes(wanted[0], got[0])
    result = {"same class": float(same.mean())}
    if "classes" in known:
        result["accuracy"] = float(np.mean(got[0].argmax(1) == known["classes"]))
    return result, {"disagreement": 100 - 100 * float(same.mean()), "relative_error": relative_error(wanted[0], got[0])}


def iou(a, b):
    """Mean intersection over union of the classes that occur in either map."""
    found = [np.sum((a == c) & (b == c)) / np.sum((a == c) | (b == c)) for c in np.union1d(a, b)]
    return float(np.mean(found))


def score_labels_map(wanted, got, known):
    maps = [array[0].argmax(1) for array in (wanted, got)]
    ious = [iou(a, b) for a, b in zip(*maps)]
    result = {"mean IoU": float(np.mean(ious)),
              "IoU with truth": float(np.mean([iou(a, b) for a, b in zip(known["map"], maps[1])]))}
    return result, {"disagreement": mean_percent(classes(wanted[0], got[0])), "iou_loss": 100 - 100 * result["mean IoU"],
                    "relative_error": relative_error(wanted[0], got[0])}


# Text


def distance(a, b):
    """Levenshtein's."""
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (one != other))
    return row[-1]


def decoded(scores):
    places = scores.argmax(2)
    lines = []
    for line in places:
        kept = np.concatenate([[True], line[1:] != line[:-1]])
        lines.append(line[kept & (line != 0)].tolist())
    return lines


def score_ctc(wanted, got, known):
    keys = ["", *KEYS.read_text(encoding="utf-8").rstrip("\n").split("\n"), " "]
    before, after = decoded(wanted[0]), decoded(got[0])
    texts = ["".join(keys[i] for i in line).strip() for line in after]
    edits = [distance(a, b) for a, b in zip(before, after)]
    result = {"lines as f32": float(np.mean([n == 0 for n in edits])),
              "lines right": float(np.mean([a == b for a, b in zip(texts, known["texts"])]))}
    return result, {"disagreement": 100 - 100 * result["lines as f32"],
                    "edit_distance": mean_percent([n / max(len(a), 1) for n, a in zip(edits, before)]),
                    "relative_error": relative_error(wanted[0], got[0])}


# Boxes: [n, 4] of x0, y0, x1, y1


def overlaps(a, b):
    """Intersection over union of each of `a` with each of `b`."""
    a, b = a[:, None], b[None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    both = np.prod(np.maximum(sides, 0), -1)
    areas = np.prod(a[..., 2:] - a[..., :2], -1) + np.prod(b[..., 2:] - b[..., :2], -1)
    return both / np.maximum(areas - both, 1e-12)


def f1(wanted, got):
    """Of two sets of boxes: each of `got`, in order, takes the best of `wanted` that is left."""
    if len(wanted) + len(got) == 0:
        return 1.0
    if len(wanted) == 0 or len(got) == 0:
        return 0.0
    matrix, hits = overlaps(got, wanted), 0
    for row in range(len(got)):
        best = matrix[row].argmax()
        if matrix[row, best] >= MATCH:
            matrix[:, best] = -1
            hits += 1
    return 2 * hits / (len(wanted) + len(got))


def boxes_f1(wanted, got):
    return float(np.mean([f1(a, b) for a, b in zip(wanted, got)]))


def suppressed(boxes, scores):
    """Boxes with a score that counts, best first, without those that overlap a better one."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] < LEAST_SCORE:
            break
        if not kept or overlaps(boxes[i:i + 1], boxes[kept]).max() <= MOST_OVERLAP:
            kept.append(i)
    return boxes[kept]


def text_boxes(probability):
    """As PP-OCR reads its map: connected parts above 0.3 with a mean of 0.6 or more, grown by 1.5 area / perimeter."""
    parts, _ = ndimage.label(probability > 0.3, np.ones((3, 3)))
    found = []
    for i, (rows, columns) in enumerate(ndimage.find_objects(parts), 1):
        high, wide = rows.stop - rows.start, columns.stop - columns.start
        if min(high, wide) >= 3 and probability[rows, columns][parts[rows, columns] == i].mean() >= 0.6:
            grow = 1.5 * high * wide / (2 * (high + wide))
            found.append([columns.start - grow, rows.start - grow, columns.stop + grow, rows.stop + grow])
    return np.asarray(found, np.float64).reshape(-1, 4)


def score_text_map(wanted, got, known):
    before, after = ([text_boxes(page[0]) for page in array[0]] for array in (wanted, got))
    result = {"F1": boxes_f1(before, after), "F1 with truth": boxes_f1(of_truth(known), after)}
    flipped = (wanted[0] > 0.5) != (got[0] > 0.5)
    return result, {"disagreement": mean_percent(flipped), "relative_error": relative_error(wanted[0], got[0])}


def of_truth(known):
    return [np.asarray(boxes, np.float64).reshape(-1, 4) for boxes in known["boxes"]]


def score_boxes(wanted, got, known):
    def read(rows):
        rows = rows.astype(np.float64)
        scores, half = rows[:, 4] * rows[:, 5:].max(1), rows[:, 2:4] / 2
        return suppressed(np.concatenate([rows[:, :2] - half, rows[:, :2] + half], 1), scores)

    before, after = ([read(rows) for rows in array[0]] for array in (wanted, got))
    result = {"F1": boxes_f1(before, after), "F1 with truth": boxes_f1(of_truth(known), after)}
    loss = 100 - 100 * result["F1"]
    return result, {"disagreement": loss, "box_loss": loss, "relative_error": relative_error(wanted[0], got[0])}


def score_ssd(wanted, got, known):
    def read(scores, corners):
        return suppressed(corners.astype(np.float64) * [320, 240, 320, 240], scores[:, 1].astype(np.float64))

    before, after = ([read(*pair) for pair in zip(*arrays)] for arrays in (wanted, got))
    result = {"F1": boxes_f1(before, after), "F1 with truth": boxes_f1(of_truth(known), after)}
    loss = 100 - 100 * result["F1"]
    # Boxes and their scores are one output for mscgym.
    joined = [np.concatenate(arrays, 2) for arrays in (wanted, got)]
    return result, {"disagreement": loss, "box_loss": loss, "relative_error": relative_error(*joined)}


# Vectors


def cosines(vectors):
    unit = vectors.astype(np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    return unit @ unit.T


def score_embedding(wanted, got, _known):
    a, b = wanted[0].astype(np.float64), got[0].astype(np.float64)
    cosine = float(np.mean(np.sum(a * b, 1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)))
    nearest = []
    for vectors in (a, b):
        table = cosines(vectors)
        np.fill_diagonal(table, -2)
        nearest.append(table.argmax(1))
    same = float(np.mean(nearest[0] == nearest[1]))
    return {"cosine": cosine, "same nearest": same}, {"disagreement": 100 - 100 * same, "cosine_distance": 1 - cosine,
                                                      "relative_error": relative_error(a, b)}


def score_sentences(wanted, got, known):
    result, losses = score_embedding(wanted, got, known)
    above = np.triu_indices(len(wanted[0]), 1)
    result["Spearman"] = float(stats.spearmanr(cosines(wanted[0])[above], cosines(got[0])[above]).statistic)
    return result, losses


def angles(outputs):
    """[N, 3] in degrees: what is expected of 66 bins of 3 degrees from -99 on."""
    found = []
    for scores in outputs:
        grown = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
        found.append(grown @ np.arange(66) / grown.sum(1) * 3 - 99)
    return np.stack(found, 1)


def score_angles(wanted, got, _known):
    before, after = angles(wanted), angles(got)
    result = {"degrees off": float(np.abs(after - before).mean()), "relative": relative_error(before, after)}
    return result, {"disagreement": max(mean_percent(classes(a, b)) for a, b in zip(wanted, got)),
                    "relative_error": max(relative_error(a, b) for a, b in zip(wanted, got))}


SCORE = {"classes": score_classes, "ctc": score_ctc, "text_map": score_text_map, "boxes": score_boxes,
         "ssd": score_ssd, "embedding": score_embedding, "sentences": score_sentences, "angles": score_angles,
         "labels_map": score_labels_map}


def outputs(folder, name, variant):
    files = sorted((folder / name / variant).glob("output_*.npy"))
    if not files:
        raise FileNotFoundError(f"{folder / name / variant} has no outputs")
    return [np.load(file, mmap_mode="r") for file in files]


def known_of(folder, name):
    file, labels = folder / name / "truth.json", folder / name / "map.npy"
    known = json.loads(file.read_text()) if file.exists() else {}
    return {**known, "map": np.load(labels)} if labels.exists() else known


def score(folder, name, variant, reference="f32"):
    wanted, got = outputs(folder, name, reference), outputs(folder, name, variant)
    if not all(np.isfinite(array).all() for array in got):
        raise ValueError("an output is not finite")
    task, losses = SCORE[networks.NETWORKS[name].kind](wanted, got, known_of(folder, name))
    return {"task": task, "losses": losses, "samples": len(got[0])}


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    try:
        print(json.dumps(score(pathlib.Path(sys.argv[1]), *sys.argv[2:])))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
