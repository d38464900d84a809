"""Labels of each kind: scores of both models and their difference agree with those computed here from the
outputs of both, and what does not fit is named."""

import csv
import json
import math
import os
import random

import e2e
from onnx_bytes import field, model, node, value, weights
from compared import decoded, dense, largest, network, rename, rows

SAMPLES = 40


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def error_of_mean(values):
    middle = mean(values)
    return math.sqrt(sum((v - middle) ** 2 for v in values) / (len(values) - 1) / len(values))


def edits(a, b):
    """Levenshtein distance, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, above = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def mean_iou(truth, found):
    """Over the classes that occur; below 0 is not labelled."""
    pairs = [(a, b) for a, b in zip(truth, found) if a >= 0]
    shares = []
    for c in {number for pair in pairs for number in pair}:
        both = sum(a == c and b == c for a, b in pairs)
        shares.append(both / sum(c in pair for pair in pairs))
    return mean(shares)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    either = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)) - both
    return both / either if either > 0 else 0


def selected(sample, size, score, most):
    """Boxes with class by falling score, without those that a better one of their class overlaps."""
    boxes = []
    for x, y, w, h, *scores in rows(sample, size):
        best = largest(scores)
        if scores[best] >= score:
            boxes.append((scores[best], (x - w / 2, y - h / 2, x + w / 2, y + h / 2), best))
    kept = []
    for box in sorted(boxes, key=lambda box: -box[0]):
        if all(other[2] != box[2] or overlap(other[1], box[1]) <= most for other in kept):
            kept.append(box)
    return [(box, label) for _, box, label in kept]


def f1(truth, found):
    if not truth and not found:
        return 1
    free = list(truth)
    hits = 0
    for box, label in found:
        best = max((t for t in free if t[1] == label), key=lambda t: overlap(t[0], box), default=None)
        if best and overlap(best[0], box) >= 0.5:
            free.remove(best)
            hits += 1
    return 2 * hits / (len(truth) + len(found))


def map_network():
    layers = (node("Conv", ["x", "v"], "a", name="first") + node("Relu", ["a"], "r") +
              node("Conv", ["r", "w"], "h", name="second"))
    shapes = {"v": [16, 3, 3, 3], "w": [5, 16, 1, 1]}
    return network(layers, rename(), ["n", 3, 8, 9], {"y": ["n", 5, 6, 7]}, shapes)


def numbers(name, values):
    """A constant of whole numbers."""
    data = b"".join(v.to_bytes(8, "little", signed=True) for v in values)
    return field(5, field(1, len(values)) + field(2, 7) + field(8, name) + field(9, data))


class Labels(e2e.ProgramTest):
    def samples(self, dims, deviation=1):
        source = random.Random(4)
        count = SAMPLES * math.prod(dims)
        return self.write("x.npy", e2e.npy("<f4", "f", [SAMPLES, *dims],
                                           [source.gauss(0, deviation) for _ in range(count)]))

    def outputs(self, net, samples):
        """One list a sample, of the first output."""
        self.mscgym(0, "run", net, "--input", samples, "--batch", str(SAMPLES), "--target", "reference",
                    "--out", self.at("outputs"))
        values = e2e.read_npy(self.at("outputs/output_0.npy"))[1]
        return rows(values, len(values) // SAMPLES)

    def quantize(self, code, net, samples, *options):
        return self.mscgym(code, "quantize", net, "--target", "reference", "--bits", "3", "--format", "npy",
                           "--calibration", samples, "--test", samples, "--json", "--out", self.at("narrow.onnx"),
                           *e2e.ANY_MODEL, *options)

    def check(self, net, samples, labels_of, score, loss, sign, *options):
        """`labels_of` writes labels, given the outputs of the model, and returns the options that name them;
        `score` is that of a sample, given its number and outputs. Returns the text on stderr."""
        net = self.write("net.onnx", net)
        before = self.outputs(net, samples)
        labels = labels_of(before)
        done = self.quantize(0, net, samples, *labels, *options)
        after = self.outputs(self.at("narrow.onnx"), samples)
        quality = json.loads(done.stdout)["quality"]
        found = quality["scores"]["y"][loss.rsplit("_", 1)[0]]
        truth = [[score(i, sample) for i, sample in enumerate(side)] for side in (before, after)]
        self.assertAlmostEqual(found["reference"], mean(truth[0]), 3)
        self.assertAlmostEqual(found["value"], mean(truth[1]), 3)
        self.assertNotAlmostEqual(found["value"], found["reference"], 3)
        lost = [sign * (b - a) for a, b in zip(*truth)]
        self.assertAlmostEqual(quality["losses"][loss]["value"], mean(lost), 3)
        self.assertAlmostEqual(quality["losses"][loss]["standard_error"], error_of_mean(lost), 3)
        return done.stderr

    def test_maps(self):
        source = random.Random(6)
        truth = []

        def labels(before):
            for sample in before:
                classes = [largest(sample[i::42]) for i in range(42)]
                truth.append([source.randrange(5) if source.random() < 0.3 else c for c in classes])
                truth[-1][source.randrange(42)] = 255
            flat = [number for sample in truth for number in sample]
            return "--labels", self.write("maps.npy", e2e.npy("|u1", "B", [SAMPLES, 6, 7], flat))

        def score(i, sample):
            known = [-1 if number == 255 else number for number in truth[i]]
            return 100 * mean_iou(known, [largest(sample[k::42]) for k in range(42)])
        said = self.check(map_network(), self.samples([3, 8, 9]), labels, score, "iou_drop", -1,
                          "--output", "y=logits:axis=1")
        self.assertIn("of output 'y': maps", said)

    def test_texts(self):
        layers, shapes = dense(12)
        net = network(layers, node("Softmax", ["h"], "y"), ["n", 9, 16], {"y": ["n", 9, 12]}, shapes)
        letters = "abcdefghij\u00e4"  # of the classes from 1 on
        truth = []

        def labels(before):
            truth.extend(decoded(sample, 12)[:-1] for sample in before)
            lines = "\n".join("".join(letters[c - 1] for c in line) for line in truth)
            return ("--labels", self.write("lines.txt", lines.encode()),
                    "--alphabet", self.write("alphabet.txt", "\n".join(letters).encode()))

        def distance(i, sample):
            return 100 * edits(truth[i], decoded(sample, 12)) / max(len(truth[i]), 1)
        self.check(net, self.samples([9, 16]), labels, distance, "edit_distance_rise", 1,
                   "--output", "y=ctc:axis=2")

    def test_texts_read_without_an_error(self):
        layers, shapes = dense(4)
        net = network(layers, node("Softmax", ["h"], "y"), ["n", 3, 16], {"y": ["n", 3, 4]}, shapes)
        truth = []

        def labels(before):
            truth.extend(decoded(sample, 4) for sample in before)
            padded = [c for line in truth for c in (line + [-1] * 3)[:3]]
            return "--labels", self.write("classes.npy", e2e.npy("<i4", "i", [SAMPLES, 3], padded))

        self.check(net, self.samples([3, 16]), labels, lambda i, sample: 100 * (decoded(sample, 4) == truth[i]),
                   "accuracy_drop", -1, "--output", "y=ctc:axis=2")

    def test_values(self):
        layers, shapes = dense(2)
        net = self.write("net.onnx", network(layers, rename(), ["n", 16], {"y": ["n", 2]}, shapes))
        samples = self.samples([16])
        before = self.outputs(net, samples)
        source = random.Random(7)
        truth = [[v + source.gauss(0, 3) for v in sample] for sample in before]
        labels = self.write("values.npy", e2e.npy("<f8", "d", [SAMPLES, 2], [v for row in truth for v in row]))
        done = self.quantize(0, net, samples, "--output", "y=regression", "--labels", labels)
        after = self.outputs(self.at("narrow.onnx"), samples)
        variance = [mean((row[c] - mean(r[c] for r in truth)) ** 2 for row in truth) for c in range(2)]

        def root(side):
            return math.sqrt(mean((row[c] - known[c]) ** 2 / variance[c]
                                  for row, known in zip(side, truth) for c in range(2)))
        quality = json.loads(done.stdout)["quality"]
        found = quality["scores"]["y"]["relative_error"]
        self.assertAlmostEqual(found["reference"], root(before), 5)
        self.assertAlmostEqual(found["value"], root(after), 5)
        self.assertAlmostEqual(quality["losses"]["relative_error_rise"]["value"], root(after) - root(before), 5)

    def test_boxes(self):
        layers = (node("Flatten", ["x"], "flat") + node("MatMul", ["flat", "v"], "a", name="first") +
                  node("Relu", ["a"], "r") + node("MatMul", ["r", "w"], "h", name="second"))
        tail = node("Reshape", ["h", "shape"], "b") + node("Sigmoid", ["b"], "y") + numbers("shape", [-1, 10, 6])
        net = network(layers, tail, ["n", 1, 4, 8], {"y": ["n", 10, 6]}, {"v": [32, 32], "w": [32, 60]})
        truth = []

        def labels(before):
            source = random.Random(8)
            coco = {"images": [], "annotations": [], "categories": [{"id": 9}, {"id": 4}]}
            for i, sample in enumerate(before):
                truth.append([])
                coco["images"].append({"id": 100 - i, "width": 8, "height": 4})
                for box, label in selected(sample, 6, 0.25, 0.45):
                    # In the picture, most of them a little off.
                    x0, y0, x1, y1 = (min(max(side + source.gauss(0, 0.05), 0), 1) for side in box)
                    if x1 <= x0 or y1 <= y0 or source.random() < 0.2:
                        continue
                    truth[-1].append(((x0, y0, x1, y1), label))
                    coco["annotations"].append({"image_id": 100 - i, "category_id": (4, 9)[label],
                                                "bbox": [8 * x0, 4 * y0, 8 * (x1 - x0), 4 * (y1 - y0)]})
            return "--labels", self.write("boxes.json", json.dumps(coco).encode())

        # So small that the sigmoids do not saturate.
        said = self.check(net, self.samples([1, 4, 8], 0.03), labels,
                          lambda i, sample: 100 * f1(truth[i], selected(sample, 6, 0.25, 0.45)), "f1_drop", -1,
                          "--output", "y=boxes:axis=2")
        self.assertIn("shares of the input's sides (found by the uncompressed model's boxes", said)

    def test_two_outputs_have_their_own(self):
        layers, shapes = dense(5)
        source = random.Random(3)
        constants = b"".join(weights(name, shape, source) for name, shape in (shapes | {"u": [32, 1]}).items())
        net = model(layers + rename() + node("MatMul", ["r", "u"], "z", name="third") + field(2, "net") + constants +
                    field(11, value("x", 1, ["n", 16])) + field(12, value("y", 1, ["n", 5])) +
                    field(12, value("z", 1, ["n", 1])))
        net = self.write("net.onnx", net)
        samples = self.samples([16])
        classes = [largest(sample) for sample in self.outputs(net, samples)]
        labels = ["--labels", "y=" + self.write("classes.npy", e2e.npy("<i8", "q", [SAMPLES], classes)),
                  "--labels", "z=" + self.write("ages.npy", e2e.npy("<i8", "q", [SAMPLES], range(SAMPLES)))]
        done = self.quantize(0, net, samples, "--output", "y=logits", "--output", "z=regression", *labels)
        quality = json.loads(done.stdout)["quality"]
        self.assertEqual(quality["scores"]["y"]["accuracy"]["reference"], 100)
        self.assertEqual(quality["reference_accuracy"], 1)
        self.assertIn("relative_error_rise:z", quality["losses"])
        self.assertNotIn("relative_error_rise:y", quality["losses"])

    def test_what_does_not_fit_is_named(self):
        net = self.write("net.onnx", map_network())
        samples = self.samples([3, 8, 9])
        maps = self.write("maps.npy", e2e.npy("|u1", "B", [SAMPLES, 5, 7], [0] * SAMPLES * 35))
        few = self.write("few.npy", e2e.npy("|u1", "B", [3, 6, 7], [0] * 3 * 42))
        wrong = self.write("wrong.npy", e2e.npy("|u1", "B", [SAMPLES, 6, 7], [0] * 42 + [9] + [0] * (SAMPLES * 42 - 43)))
        for labels, text in ((maps, "integers [5,7] for each sample, do not fit: output 'y' (logits along axis 1) takes "
                                    "maps of 42 class numbers"),
                             (few, f"'{few}' holds labels of shape [3,6,7] for {SAMPLES} samples"),
                             (wrong, f"'{wrong}' holds 9 in row 1, counted from 0; output 'y' (logits along axis 1) has "
                                     "5 classes, 0 to 4"),
                             ("z=" + few, f"'{few}' holds labels of shape"),
                             (self.write("lines.txt", b"a\n"), "holds texts: name a file with the classes"),
                             (self.write("broken.json", b"{"), "broken.json'")):
            done = self.quantize(2, net, samples, "--output", "y=logits:axis=1", "--labels", labels)
            self.assertIn(text, done.stderr)
        done = self.quantize(2, net, samples, "--labels", few, "--labels", maps)
        self.assertIn("another file came without an output", done.stderr)


class LabelledSearch(e2e.ProgramTest):
    def test_a_search_limits_a_loss_against_maps(self):
        source = random.Random(4)
        count = 60
        images = self.write("x.npy", e2e.npy("<f4", "f", [count, 3, 8, 9],
                                             [source.gauss(0, 1) for _ in range(count * 216)]))
        maps = self.write("maps.npy", e2e.npy("|u1", "B", [count, 6, 7],
                                              [source.randrange(5) for _ in range(count * 42)]))
        self.write("net.onnx", map_network())
        config = {"model": "net.onnx", "env": "quantize", "agent": "random", "target": "native", "trials": 2,
                  "finalists": 1, "explain_s": 0, "estimate_s": 5,
                  "calibration": {"data": {"images": images}},
                  "quality": {"data": {"images": images, "labels": {"y": "maps.npy"}}, "guard": e2e.ANY_RESULT,
                              "outputs": {"y": {"kind": "logits", "axis": 1}}},
                  "objective": {"minimize": ["weight_bytes", "distill_loss"], "subject_to": {"iou_drop": 50}},
                  "latency": {"max_ms": 20, "max_rounds": 3, "min_rounds": 3, "max_warmup_ms": 5}}
        run = self.at("run")
        done = self.mscgym(0, "search", self.write("config.json", json.dumps(config).encode()), "--out", run)
        self.assertIn(f"labels '{maps}' of output 'y': maps", done.stdout + done.stderr)
        self.assertIn("iou_drop", json.dumps(e2e.results(run)))
        with open(os.path.join(run, "trials.journal"), encoding="utf-8") as file:
            self.assertIn('"scores":{"iou_drop":{"reference":', file.read().replace("\\", ""))
        with open(os.path.join(run, "sensitivity.csv"), encoding="utf-8") as file:
            self.assertTrue(any("iou_drop" in cell for row in csv.reader(file) for cell in row))
        page = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("IoU drop", page)
        self.assertRegex(page, r"\(before \d+\.\d\d %\)")
        self.mscgym(0, "search", self.at("config.json"), "--out", run, "--resume")


if __name__ == "__main__":
    e2e.main()
