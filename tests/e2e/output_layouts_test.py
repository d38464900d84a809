"""Outputs are what they are: small networks whose outputs have the layouts that exporters give them. The program
finds what each one is, its losses agree with those computed here from the outputs of both models, and a result is
marked suspicious exactly where these exceed their bounds."""

import json
import math
import struct

import e2e
from compared import (ComparedTest, SAMPLES, attribute, convolutions, decoded, dense, largest, network,
                      rename, rows, scalar, share, whole)
from onnx_bytes import field, ints, node

DECISIONS, ERROR = 2, 0.1  # bounds of what is not suspicious
INT64 = 7


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def relative_error(before, after, columns=1):
    """Of samples; each column of a row has a deviation of its own, but at least a hundredth of that of all."""
    def variance(numbers):
        centre = mean(numbers)
        return mean((x - centre)**2 for x in numbers)
    least = 1e-4 * variance([x for sample in before for x in sample])
    own = [max(variance([x for sample in before for x in sample[c::columns]]), least) for c in range(columns)]
    return math.sqrt(mean(mean((y - x)**2 / own[i % columns] for i, (x, y) in enumerate(zip(p, q)))
                          for p, q in zip(before, after)))


def softmax(row):
    top = max(row)
    exps = [math.exp(x - top) for x in row]
    return [x / sum(exps) for x in exps]


def divergence(p, q):
    """Of two rows of probabilities."""
    return sum(a * math.log(a / b) for a, b in zip(p, q))


def yes_or_no(p, q):
    def kept(x):
        return max(x, 1e-7)
    return kept(p) * math.log(kept(p) / kept(q)) + kept(1 - p) * math.log(kept(1 - p) / kept(1 - q))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def along(sample, size, inner):
    """Rows of [outer, size, inner] along the axis in the middle."""
    return [[sample[(o * size + c) * inner + i] for c in range(size)]
            for o in range(len(sample) // (size * inner)) for i in range(inner)]


def flat(pairs):
    return [pair for one, other in pairs for pair in zip(one, other)]


def corner_form(row):
    x, y, width, height = row[:4]
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def overlap(a, b):
    def area(box):
        return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)
    both = area([max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])])
    either = area(a) + area(b) - both
    return both / either if either > 0 else 0


def selected(candidates, corners, score_of):
    """Boxes, scores and classes of [box, scores...] that count: greedy suppression."""
    boxes = []
    for row in candidates:
        scores = score_of(row[4:])
        label = largest(scores)
        if scores[label] >= 0.25:
            boxes.append((row[:4] if corners else corner_form(row), scores[label], label))
    boxes.sort(key=lambda box: -box[1])
    kept = []
    for box in boxes:
        if not any(other[2] == box[2] and overlap(other[0], box[0]) > 0.45 for other in kept):
            kept.append(box)
    return kept


def f1(wanted, found):
    if not wanted and not found:
        return 1
    free, matches = list(wanted), 0
    for box in found:
        near = [other for other in free if other[2] == box[2] and overlap(other[0], box[0]) >= 0.5]
        if near:
            free.remove(max(near, key=lambda other: overlap(other[0], box[0])))
            matches += 1
    return 2 * matches / (len(wanted) + len(found))


class OutputLayouts(ComparedTest):
    def check(self, found, kind, truths, output="y"):
        """`truths`: loss -> what was computed here. A result is suspicious exactly where one exceeds its bound."""
        self.assertIn(f"output '{output}': {kind}", found.said)
        self.assertEqual(found.quality["outputs"][output], kind.split()[0].rstrip(","))
        for name, truth in truths.items():
            self.assertAlmostEqual(found.loss(name, output), truth, delta=5e-4 * max(abs(truth), 1e-3), msg=name)
        marked = f"suspicious: output '{output}' " in found.said
        beyond = truths.get("disagreement", 0) > DECISIONS or truths.get("relative_error", 0) > ERROR
        beyond = beyond or truths.get("iou_loss", 0) > 5 * DECISIONS
        self.assertEqual(marked, beyond, found.said)
        self.assertEqual(found.code, 3 if "suspicious: " in found.said else 0)

    def check_classes(self, found, kind, size, inner=1, probabilities=True, output="y", sides=None):
        before, after = sides or (found.before, found.after)
        pairs = [list(zip(along(p, size, inner), along(q, size, inner))) for p, q in zip(before, after)]
        losses = {"disagreement": mean(share(largest(a) != largest(b) for a, b in sample) for sample in pairs)}
        if probabilities is not None:
            shape = list if probabilities else softmax
            losses["distill_loss"] = mean(mean(divergence(shape(a), shape(b)) for a, b in sample) for sample in pairs)
        losses["relative_error"] = relative_error(before, after)
        self.check(found, kind, losses, output)

    def test_logits(self):
        layers, shapes = dense(10)
        found = self.compare(network(layers, rename(), ["n", 16], {"y": ["n", 10]}, shapes), [16])
        self.check_classes(found, "logits along axis 1", 10, probabilities=False)

    def test_log_softmax(self):
        layers, shapes = dense(10)
        found = self.compare(network(layers, node("LogSoftmax", ["h"], "y"), ["n", 16], {"y": ["n", 10]}, shapes),
                             [16])
        self.check_classes(found, "logits along axis 1", 10, probabilities=False)

    def test_probabilities_behind_a_reshape(self):
        layers, shapes = dense(12)
        tail = (node("Mul", ["h", "less"], "s") + node("Reshape", ["s", "parts"], "t") + node("Softmax", ["t"], "u") +
                node("Reshape", ["u", "grid"], "y"))
        more = whole("parts", [-1, 3, 4]) + whole("grid", [-1, 3, 1, 4]) + scalar("less", 0.05)
        found = self.compare(network(layers, tail, ["n", 16], {"y": ["n", 3, 1, 4]}, shapes, more), [16])
        self.check_classes(found, "probabilities along axis 3", 4)

    def test_a_map_of_probabilities_with_channels_last(self):
        layers, shapes = convolutions(3, 5)
        tail = (node("Mul", ["h", "less"], "s") + node("Softmax", ["s"], "t", attribute("axis", 1)) +
                node("Transpose", ["t"], "y", ints("perm", [0, 2, 3, 1])))
        found = self.compare(network(layers, tail, ["n", 3, 6, 7], {"y": ["n", 6, 7, 5]}, shapes,
                                     scalar("less", 0.05)), [3, 6, 7])
        self.check_classes(found, "probabilities along axis 3", 5)

    def test_a_map_of_logits_with_more_classes_than_positions(self):
        layers, shapes = convolutions(3, 12)
        found = self.compare(network(layers, rename(), ["n", 3, 8, 9], {"y": ["n", 12, 8, 9]}, shapes), [3, 8, 9])
        self.check_classes(found, "logits along axis 1", 12, inner=72, probabilities=None)

    def test_a_denoised_image(self):
        layers, shapes = convolutions(3, 3)
        tail = node("Mul", ["h", "little"], "s") + node("Sub", ["x", "s"], "y")
        found = self.compare(network(layers, tail, ["n", 3, 6, 7], {"y": ["n", 3, 6, 7]}, shapes,
                                     scalar("little", 0.002)), [3, 6, 7])
        self.check(found, "regression", {"relative_error": relative_error(found.before, found.after)})

    def test_several_labels_in_two_heads_of_sigmoids(self):
        layers, shapes = dense(7)
        tail = (node("Mul", ["h", "less"], "s") + node("Slice", ["s", "zero", "four", "one"], "left", name="left") +
                node("Slice", ["s", "four", "seven", "one"], "right", name="right") +
                node("Sigmoid", ["left"], "p", name="p") + node("Sigmoid", ["right"], "q", name="q") +
                node("Concat", ["p", "q"], "y", attribute("axis", 1)))
        more = b"".join(whole(name, [number]) for name, number in
                        (("zero", 0), ("one", 1), ("four", 4), ("seven", 7))) + scalar("less", 0.05)
        found = self.compare(network(layers, tail, ["n", 16], {"y": ["n", 7]}, shapes, more), [16])
        pairs = flat(zip(found.before, found.after))
        self.check(found, "binary", {
            "disagreement": share((a > 0.5) != (b > 0.5) for a, b in pairs),
            "distill_loss": mean(yes_or_no(a, b) for a, b in pairs),
            "relative_error": relative_error(found.before, found.after)})

    def check_one_logit(self, found, columns=1):
        pairs = flat(zip(found.before, found.after))
        self.check(found, "logit", {
            "disagreement": share((a > 0) != (b > 0) for a, b in pairs),
            "distill_loss": mean(yes_or_no(sigmoid(a), sigmoid(b)) for a, b in pairs),
            "relative_error": relative_error(found.before, found.after, columns)})

    def test_one_logit(self):
        layers, shapes = dense(1)
        tail = node("Mul", ["h", "less"], "s") + node("Add", ["s", "bias"], "y")
        more = scalar("less", 0.2) + scalar("bias", 2)
        self.check_one_logit(self.compare(network(layers, tail, ["n", 16], {"y": ["n", 1]}, shapes, more), [16]))

    def test_one_logit_without_an_axis_of_its_own(self):
        # Multiplied by a vector of weights, which is a layer like any other.
        layers, shapes = dense(1)
        shapes["w"] = [32]
        tail = node("Mul", ["h", "less"], "s") + node("Add", ["s", "bias"], "y")
        net = network(layers, tail, ["n", 16], {"y": ["n"]}, shapes, scalar("less", 0.2) + scalar("bias", 2))
        self.check_one_logit(self.compare(net, [16]))
        pruned = json.loads(self.mscgym(0, "prune", self.at("net.onnx"), "--density", "0.5", "--align", "1",
                                        "--json").stdout)
        self.assertLess(pruned["macs_kept"], 0.6 * pruned["macs"])

    def test_ctc_with_time_first_and_blank_last(self):
        layers, shapes = dense(12)
        tail = node("Mul", ["h", "less"], "s") + node("Add", ["s", "often"], "t") + node("Softmax", ["t"], "y")
        often = field(5, field(1, 12) + field(2, 1) + field(8, "often") +
                      field(9, struct.pack("<12f", *([0] * 11 + [2]))))
        # [time, n, features]: samples are along axis 1.
        net = network(layers, tail, [9, "n", 16], {"y": [9, "n", 12]}, shapes, often + scalar("less", 0.05))
        numbers = self.samples([9, 16])
        samples = self.write("x.npy", e2e.npy("<f4", "f", [SAMPLES, 9, 16], numbers))
        plain, narrow = self.write("net.onnx", net), self.at("narrow.onnx")
        given = ("--calibration", samples, "--test", samples, "--batch-axis", "x=1", "--format", "npy")
        done = self.run_any("quantize", plain, "--target", "reference", "--bits", "3", "--keep-f32", "none", "--json",
                            "--out", narrow, *given)
        self.assertIn("output 'y': ctc along axis 2, blank 11", done.stderr)
        turned = [x for t in range(9) for n in range(SAMPLES)
                  for x in numbers[(n * 9 + t) * 16:(n * 9 + t + 1) * 16]]
        given = self.write("turned.npy", e2e.npy("<f4", "f", [9, SAMPLES, 16], turned))
        lines = []
        for path in (plain, narrow):
            self.mscgym(0, "run", path, "--input", given, "--shape", f"x=9x{SAMPLES}x16", "--target", "reference",
                        "--out", self.at("outputs"))
            made = e2e.read_npy(self.at("outputs/output_0.npy"))[1]
            lines.append([decoded([x for t in range(9) for x in made[(t * SAMPLES + n) * 12:(t * SAMPLES + n + 1) * 12]],
                                  12, 11) for n in range(SAMPLES)])
        truth = share(a != b for a, b in zip(*lines))
        self.assertGreater(truth, DECISIONS)
        losses = json.loads(done.stdout)["quality"]["losses"]
        self.assertAlmostEqual(losses["disagreement"]["value"], truth, 3)
        self.assertEqual(done.returncode, 3)

    def test_a_model_without_an_axis_of_samples(self):
        # A sample is the whole input; its output [6, 4] has classes along the last axis.
        layers, shapes = dense(4)
        tail = node("Mul", ["h", "less"], "s") + node("Softmax", ["s"], "y")
        net = network(layers, tail, [6, 16], {"y": [6, 4]}, shapes, scalar("less", 0.05))
        found = self.compare(net, [6, 16], whole_calls=True)
        self.check_classes(found, "probabilities along axis 2", 4)

    def test_a_list_as_input_and_output(self):
        layers, shapes = dense(5)
        net = network(layers, rename(), [16], {"y": [5]}, shapes)
        found = self.compare(net, [16], "--output", "y=logits:axis=1", whole_calls=True)
        self.assertNotEqual(found.before, found.after)  # products of lists are layers, too
        self.check_classes(found, "logits along axis 1", 5, probabilities=None)

    def test_logits_beside_an_embedding(self):
        layers, shapes = dense(10)
        tail = node("Identity", ["h"], "logits") + node("MatMul", ["r", "u"], "embedding", name="third")
        shapes["u"] = [32, 24]
        found = self.compare(network(layers, tail, ["n", 16], {"logits": ["n", 10], "embedding": ["n", 24]}, shapes),
                             [16], outputs=2)
        logits, vectors = zip(found.before, found.after)
        self.check_classes(found, "logits along axis 1", 10, probabilities=None, output="logits", sides=logits)
        cosines = [sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
                   for a, b in zip(*vectors)]
        self.assertIn("output 'embedding': embedding", found.said)
        self.assertAlmostEqual(found.loss("cosine_distance", "embedding"), 1 - mean(cosines), 5)

    def boxes(self, boxes, tail, outputs):
        """x [n, 30, 16] -> positive boxes of 4 numbers named `boxes`, and raw scores c of 3 classes, along the last
        axis."""
        layers, shapes = dense(7)
        tail = (node("Mul", ["h", "less"], "s") + node("Slice", ["s", "zero", "four", "two"], "b", name="left") +
                node("Slice", ["s", "four", "seven", "two"], "c", name="right") +
                node("Softplus", ["b"], boxes) + tail)
        more = b"".join(whole(name, [number]) for name, number in
                        (("zero", 0), ("two", 2), ("four", 4), ("seven", 7))) + scalar("less", 0.1)
        return network(layers, tail, ["n", 30, 16], outputs, shapes, more)

    def check_boxes(self, found, before, after, kind, score_of, output):
        truth = mean(100 * (1 - f1(selected(p, False, score_of), selected(q, False, score_of)))
                     for p, q in zip(before, after))
        self.assertGreater(truth, DECISIONS)
        losses = {"box_loss": truth, "disagreement": truth}
        self.check(found, kind, losses, output)

    def test_boxes_and_sigmoids_side_by_side(self):
        for axis, out, turn in ((2, ["n", 30, 7], [0, 1, 2]), (1, ["n", 7, 30], [0, 2, 1])):
            tail = (node("Sigmoid", ["c"], "e") + node("Concat", ["d", "e"], "f", attribute("axis", 2)) +
                    node("Transpose", ["f"], "y", ints("perm", turn)))
            found = self.compare(self.boxes("d", tail, {"y": out}), [30, 16])
            before, after = ([along(sample, 7, 1 if axis == 2 else 30) for sample in side]
                             for side in (found.before, found.after))
            self.check_boxes(found, before, after, f"boxes (centre, width, height) along axis {axis}", list, "y")

    def test_boxes_and_scores_as_two_outputs(self):
        # As exported for NonMaxSuppression, with the classes first, and before a sigmoid.
        turned = node("Sigmoid", ["c"], "e") + node("Transpose", ["e"], "scores", ints("perm", [0, 2, 1]))
        tails = (("scores", ["n", 30, 3], node("Sigmoid", ["c"], "scores"), 1, list),
                 ("scores", ["n", 3, 30], turned, 30, list),
                 ("logits", ["n", 30, 3], node("Identity", ["c"], "logits"), 1, lambda row: [sigmoid(x) for x in row]))
        for name, out, tail, inner, score_of in tails:
            net = self.boxes("boxes", tail, {"boxes": ["n", 30, 4], name: out})
            found = self.compare(net, [30, 16], outputs=2)
            before, after = ([[box + scores for box, scores in zip(rows(list(b), 4), along(s, 3, inner))]
                              for b, s in zip(*side)] for side in (found.before, found.after))
            self.check_boxes(found, before, after,
                             f"boxes (centre, width, height) along axis 2, scores in '{name}'", score_of, "boxes")
            self.assertIn(f"output '{name}': part of the boxes in 'boxes'", found.said)

    def test_integers_and_what_a_choice_leaves(self):
        layers, shapes = dense(10)
        tail = (node("ArgMax", ["h"], "label", attribute("axis", 1), attribute("keepdims", 0)) +
                field(1, field(1, "h") + field(1, "three") + field(2, "best") + field(2, "places") + field(3, "top") +
                      field(4, "TopK")))
        outputs = {"label": (INT64, ["n"]), "best": ["n", 3], "places": (INT64, ["n", 3])}
        found = self.compare(network(layers, tail, ["n", 16], outputs, shapes, whole("three", [3])), [16], outputs=3)
        labels, best, places = zip(found.before, found.after)
        for name, sides in (("label", labels), ("places", places)):
            self.check(found, "integers", {"disagreement": share(a != b for a, b in flat(zip(*sides)))}, name)
        self.assertIn("output 'best': ", found.said)
        self.assertEqual(len(best[0]), SAMPLES)

    def test_a_series_of_states(self):
        layers, shapes = dense(3)
        tail = node("Mul", ["h", "units"], "y")
        units = field(5, field(1, 3) + field(2, 1) + field(8, "units") +
                      field(9, struct.pack("<3f", 100, 1, 0.5)))
        found = self.compare(network(layers, tail, ["n", 12, 16], {"y": ["n", 12, 3]}, shapes, units), [12, 16])
        self.check(found, "series", {"relative_error": relative_error(found.before, found.after, 3)})

    def test_heatmaps_of_key_points(self):
        layers, shapes = convolutions(3, 5)
        found = self.compare(network(layers, node("Identity", ["h"], "heatmaps"), ["n", 3, 6, 7],
                                     {"heatmaps": ["n", 5, 6, 7]}, shapes), [3, 6, 7])
        self.check(found, "regression", {"relative_error": relative_error(found.before, found.after)}, "heatmaps")

    def test_a_statistic_of_all_samples_of_a_call(self):
        # [5] a call: a call takes one sample, so that each has an output.
        layers, shapes = dense(5)
        tail = node("ReduceMean", ["h"], "y", ints("axes", [0]), attribute("keepdims", 0))
        net = network(layers, tail, ["n", 16], {"y": [5]}, shapes)
        samples = self.write("x.npy", e2e.npy("<f4", "f", [SAMPLES, 16], self.samples([16])))
        done = self.run_any("quantize", self.write("net.onnx", net), "--target", "reference", "--bits", "2", "--format",
                            "npy", "--calibration", samples, "--test", samples, "--json", "--out", self.at("q.onnx"))
        self.assertIn("output 'y': one sample for each call", done.stderr)
        self.assertEqual(json.loads(done.stdout)["quality"]["samples"], SAMPLES)

    def test_keys_of_a_stated_kind(self):
        layers, shapes = dense(12)
        tail = node("Softmax", ["h"], "y")
        net = network(layers, tail, ["n", 9, 16], {"y": ["n", 9, 12]}, shapes)
        found = self.compare(net, [9, 16], "--output", "y=ctc:axis=2,blank=3")
        truth = share(decoded(a, 12, 3) != decoded(b, 12, 3) for a, b in zip(found.before, found.after))
        self.check(found, "ctc along axis 2, blank 3", {"disagreement": truth})
        for wrong in ("y=ctc:axis", "y=ctc:axis=1,axis=2", "y=ctc:axis=1:blank=2"):
            refused = self.run_any("quantize", self.at("net.onnx"), "--calibration", self.at("x.npy"), "--test",
                                   self.at("x.npy"), "--output", wrong)
            self.assertEqual(refused.returncode, 2, refused.stderr)


if __name__ == "__main__":
    e2e.main()
