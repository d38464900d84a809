"""Samples as people have them: inputs that count samples elsewhere or not at all, samples of several
sizes, images that need preparation, audio. What the program says is compared with sums of its own
outputs, made one sample at a time."""

import json
import math
import os
import random
import struct
import unittest
import zipfile

import e2e
import onnx_bytes
from onnx_bytes import field, ints, node, value, weights

SAMPLES = 24
FLOAT = 1


def number(name, value_):
    """An integer attribute."""
    return field(1, name) + field(3, value_) + field(20, 2)


def cast_to(dtype):
    return number("to", dtype)


def rows_of(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


def variance(values):
    mean = sum(values) / len(values)
    return sum((x - mean) ** 2 for x in values) / len(values)


def relative_error(wanted, got):
    """The root of the mean squared error over the variance of the column, but at least a ten thousandth of that
    of all numbers; docs/quality.md."""
    least = 1e-4 * variance([x for row in wanted for x in row])
    total = 0
    for column in range(len(wanted[0])):
        squares = [(a[column] - b[column]) ** 2 for a, b in zip(wanted, got)]
        total += sum(squares) / len(squares) / max(variance([row[column] for row in wanted]), least)
    return math.sqrt(total / len(wanted[0]))


class Samples(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        self.source = random.Random(3)

    def normal(self, count):
        return [self.source.gauss(0, 1) for _ in range(count)]

    def model(self, name, *parts):
        path = self.at(name)
        with open(path, "wb") as file:
            file.write(onnx_bytes.model(b"".join(parts)))
        return path

    def npy(self, name, shape, values):
        path = self.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(e2e.npy("<f4", "f", shape, values))
        return path

    def quantize(self, model, *arguments):
        done = self.succeed("quantize", model, "--json", *e2e.ANY_MODEL, *arguments)
        return json.loads(done.stdout), done.stderr

    def error_one_by_one(self, model, quantized, samples, shape, columns):
        """The relative error, from one run of both models for each sample."""
        outputs = []
        for path in (model, quantized):
            rows = []
            for sample in samples:
                given = self.npy("one.npy", shape, sample)
                self.succeed("run", path, "--input", given, "--out", self.at("outputs"))
                rows += rows_of(e2e.read_npy(self.at("outputs", "output_0.npy"))[1], columns)
            outputs.append(rows)
        return relative_error(*outputs)

    def test_a_model_without_an_axis_of_samples_takes_one_at_a_time(self):
        model = self.model("whole.onnx", node("MatMul", ["x", "w"], "h"), node("Relu", ["h"], "r"),
                           node("MatMul", ["r", "v"], "depth"), field(2, "whole"),
                           weights("w", [12, 16], self.source), weights("v", [16, 5], self.source),
                           field(11, value("x", FLOAT, [3, 12])), field(12, value("depth", FLOAT, [3, 5])))
        rows = [self.normal(36) for _ in range(SAMPLES)]
        data = self.npy("x.npy", [SAMPLES, 3, 12], sum(rows, []))
        out = self.at("int8.onnx")
        made, said = self.quantize(model, "--calibration", data, "--test", data, "--bits", "4", "--out", out)
        self.assertIn("input 'x': one sample for each call", said)
        self.assertIn("output 'depth': one sample for each call", said)
        self.assertEqual(made["quality"]["outputs"], {"depth": "series"})
        self.assertAlmostEqual(e2e.loss(made["quality"], "relative_error"),
                               self.error_one_by_one(model, out, rows, [3, 12], 5), places=3)
        self.succeed("prune", model, "--density", "0.5", "--align", "1", "--score", "energy", "--reconstruct",
                     "--calibration", data, "--test", data, *e2e.ANY_MODEL, "--out", self.at("p.onnx"))
        self.succeed("track", model, "--data", data, "--targets", "native")

    def test_the_axis_of_samples_may_be_named(self):
        shared = [weights("w", [6, 8], self.source), weights("v", [8, 3], self.source)]
        layers = [node("MatMul", ["x", "w"], "h"), node("Relu", ["h"], "r"), node("MatMul", ["r", "v"], "angles")]
        last = self.model("second.onnx", *layers, field(2, "second"), *shared,
                          field(11, value("x", FLOAT, [4, "n", 6])), field(12, value("angles", FLOAT, [4, "n", 3])))
        first = self.model("first.onnx", *layers, field(2, "first"), *shared,
                           field(11, value("x", FLOAT, ["n", 4, 6])), field(12, value("angles", FLOAT, ["n", 4, 3])))
        data = self.npy("x.npy", [SAMPLES, 4, 6], self.normal(SAMPLES * 24))
        given = ("--calibration", data, "--test", data, "--bits", "4", "--output", "angles=regression")
        made, said = self.quantize(last, *given, "--batch-axis", "x=1")
        self.assertIn("input 'x': samples along axis 1", said)
        self.assertIn("output 'angles': samples along axis 1", said)
        wanted, _ = self.quantize(first, *given)
        self.assertAlmostEqual(e2e.loss(made["quality"], "relative_error"),
                               e2e.loss(wanted["quality"], "relative_error"), places=6)
        refused = self.mscgym("quantize", last, *given, "--batch-axis", "z=1")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("'batch_axis' names 'z', which is no input or output of the model", refused.stderr)

    def scaled(self):
        """x [n, 6] and a scalar t: MatMul, times t."""
        return self.model("scaled.onnx", node("MatMul", ["x", "w"], "h"), node("Relu", ["h"], "r"),
                          node("MatMul", ["r", "v"], "u"), node("Mul", ["u", "t"], "value"), field(2, "scaled"),
                          weights("w", [6, 8], self.source), weights("v", [8, 3], self.source),
                          field(11, value("x", FLOAT, ["n", 6])), field(11, value("t", FLOAT, [])),
                          field(12, value("value", FLOAT, ["n", 3])))

    def archive(self, name, **arrays):
        path = self.at(name)
        with zipfile.ZipFile(path, "w") as file:
            for array, (descr, code, shape, values) in arrays.items():
                file.writestr(array + ".npy", e2e.npy(descr, code, shape, values))
        return path

    def test_a_scalar_is_one_number_for_all_or_one_for_each(self):
        model = self.scaled()
        x = ("<f4", "f", [SAMPLES, 6], self.normal(SAMPLES * 6))
        shared = self.archive("shared.npz", x=x, t=("<f4", "f", [], [0.5]))
        each = self.archive("each.npz", x=x, t=("<f4", "f", [SAMPLES], [0.5] * SAMPLES))
        alone = self.npy("x.npy", x[2], x[3])
        losses = []
        for data, more, said in ((shared, (), "input 't': the same for all samples"),
                                 (each, (), "input 't': one sample for each call"),
                                 (alone, ("--constant", "t=0.5"), "input 't': the same for all samples")):
            made, notes = self.quantize(model, "--calibration", data, "--test", data, "--bits", "4", *more)
            self.assertIn(said, notes)
            losses.append(e2e.loss(made["quality"], "relative_error"))
        self.assertGreater(losses[0], 0)
        for loss in losses[1:]:
            self.assertAlmostEqual(loss, losses[0], places=5)

    def test_a_search_runs_whole_samples_and_scalars(self):
        whole = self.model("whole.onnx", node("MatMul", ["x", "w"], "h"), node("Relu", ["h"], "r"),
                           node("MatMul", ["r", "v"], "y"), field(2, "whole"),
                           weights("w", [12, 16], self.source), weights("v", [16, 5], self.source),
                           field(11, value("x", FLOAT, [3, 12])), field(12, value("y", FLOAT, [3, 5])))
        data = self.npy("x.npy", [SAMPLES, 3, 12], self.normal(SAMPLES * 36))
        numbers = self.npy("n.npy", [SAMPLES, 6], self.normal(SAMPLES * 6))
        for name, model, samples in (("whole", whole, {"images": data}),
                                     ("scalar", self.scaled(), {"images": numbers, "constants": {"t": 0.5}})):
            config = e2e.small_config()
            config.update(model=model, env="quantize", agent="random", trials=2, finalists=1)
            config["calibration"].update(data=samples, samples=SAMPLES)
            config["quality"].update(data=samples, samples=SAMPLES, final_samples=SAMPLES)
            config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {}}
            run = self.at("run_" + name)
            done = self.succeed("search", self.write(name + ".json", config), "--out", run)
            self.assertIn("quality: 24 samples", done.stdout + done.stderr)
            for trial in e2e.trials(run).values():
                self.assertNotIn("failure", trial)

    def test_samples_of_several_sizes_run_by_size(self):
        parts = [node("Conv", ["x", "w"], "h"), node("Relu", ["h"], "r"), node("GlobalAveragePool", ["r"], "g"),
                 node("Flatten", ["g"], "f"), node("MatMul", ["f", "v"], "depth"), field(2, "ragged"),
                 weights("w", [8, 2, 3], self.source), weights("v", [8, 3], self.source),
                 field(11, value("x", FLOAT, ["n", 2, "s"])), field(12, value("depth", FLOAT, ["n", 3]))]
        model = self.model("ragged.onnx", *parts)
        sizes = [8, 11, 8, 20, 11, 8]
        for i, size in enumerate(sizes):
            self.npy(os.path.join("set", f"{i}.npy"), [2, size], self.normal(2 * size))
        made, said = self.quantize(model, "--calibration", self.at("set"), "--test", self.at("set"), "--bits", "4",
                                   "--out", self.at("q.onnx"))
        self.assertIn("2x8 to 2x20, 3 sizes", said)
        self.assertEqual(made["quality"]["samples"], len(sizes))
        outputs = []
        for path in (model, self.at("q.onnx")):
            outputs.append([])
            for i, size in enumerate(sizes):
                one = self.npy("one.npy", [1, 2, size], e2e.read_npy(self.at("set", f"{i}.npy"))[1])
                self.succeed("run", path, "--input", one, "--shape", f"x=1x2x{size}", "--out", self.at("outputs"))
                outputs[-1].append(e2e.read_npy(self.at("outputs", "output_0.npy"))[1])
        self.assertAlmostEqual(e2e.loss(made["quality"], "relative_error"), relative_error(*outputs), places=3)

    def test_images_are_padded_cropped_and_turned_to_bgr(self):
        os.makedirs(self.at("images"))
        for i, (width, height) in enumerate(((9, 5), (4, 8), (6, 6), (7, 12))):
            pixels = bytes(self.source.randrange(256) for _ in range(3 * width * height))
            with open(self.at("images", f"{i}.ppm"), "wb") as file:
                file.write(b"P6 %d %d 255 " % (width, height) + pixels)
        for layout, shape, axes in (("nchw", ["n", 3, 6, 8], [2, 3]), ("nhwc", ["n", 6, 8, 3], [1, 2])):
            model = self.model(layout + ".onnx",
                               node("ReduceMean", ["x"], "m", ints("axes", axes), number("keepdims", 0)),
                               node("MatMul", ["m", "w"], "value"), field(2, layout),
                               weights("w", [3, 4], random.Random(1)), field(11, value("x", FLOAT, shape)),
                               field(12, value("value", FLOAT, ["n", 4])))
            for options in (["--resize", "pad", "--pad-value", "0", "--pad-at", "top_left", "--bgr"],
                            ["--resize", "crop", "--shorter-side", "10", "--antialias"], ["--resize"]):
                made, said = self.quantize(model, "--calibration", self.at("images"), "--test", self.at("images"),
                                           "--scale", "1", "--mean", "103.5", "116", "123.7", "--std", "57", "57.1",
                                           "58.4", *options)
                self.assertEqual(made["quality"]["samples"], 4)
                self.assertIn("calibration: 4 samples", said)
        refused = self.mscgym("quantize", model, "--calibration", self.at("images"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("0.ppm' is 9 x 5 pixels; the model's input needs 8 x 6. Set 'resize' to stretch, pad or crop",
                      refused.stderr)
        with open(self.at("images", "2.ppm"), "wb") as file:
            file.write(b"P6 6 6 255 short")
        refused = self.mscgym("quantize", model, "--calibration", self.at("images"), "--resize", "pad")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("2.ppm' is truncated", refused.stderr)

    def test_audio_is_read_from_wav_files(self):
        model = self.model("audio.onnx", node("Conv", ["x", "w"], "h"), node("GlobalAveragePool", ["h"], "g"),
                           node("Flatten", ["g"], "value"), field(2, "audio"), weights("w", [4, 1, 5], self.source),
                           field(11, value("x", FLOAT, ["n", 1, "s"])), field(12, value("value", FLOAT, ["n", 4])))
        os.makedirs(self.at("sounds"))
        for i, rate in enumerate((8000, 8000, 8000)):
            data = struct.pack("<40h", *(self.source.randrange(-20000, 20000) for _ in range(40)))
            head = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
            body = (b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(data)) + data)
            with open(self.at("sounds", f"{i}.wav"), "wb") as file:
                file.write(b"RIFF" + struct.pack("<I", len(body)) + body)
        given = ("--calibration", self.at("sounds"), "--test", self.at("sounds"))
        made, said = self.quantize(model, *given, "--sample-rate", "8000")
        self.assertIn("1x40", said)
        self.assertEqual(made["quality"]["samples"], 3)
        refused = self.mscgym("quantize", model, *given, "--sample-rate", "16000")
        self.assertIn("has 8000 samples per second, not the 16000 of 'sample_rate'. Rates are not converted",
                      refused.stderr)

    def test_text_is_read_as_tokens(self):
        axes = ints("axes", [1])
        model = self.model(
            "text.onnx", node("Gather", ["table", "input_ids"], "e"), node("Cast", ["attention_mask"], "m", cast_to(1)),
            node("Unsqueeze", ["m", "one"], "u"), node("Mul", ["e", "u"], "k"),
            node("ReduceMean", ["k"], "p", axes, number("keepdims", 0)), node("MatMul", ["p", "w"], "logits"),
            field(2, "text"), weights("table", [30, 8], self.source), weights("w", [8, 3], self.source),
            field(5, field(1, 1) + field(2, 7) + field(8, "one") + field(9, struct.pack("<q", 2))),
            field(11, value("input_ids", 7, ["n", "s"])), field(11, value("attention_mask", 7, ["n", "s"])),
            field(12, value("logits", FLOAT, ["n", 3])))
        ids = ("<i8", "q", [SAMPLES, 5], [self.source.randrange(30) for _ in range(5 * SAMPLES)])
        mask = ("<i8", "q", [SAMPLES, 5], [1, 1, 1, 0, 0] * SAMPLES)
        data = self.archive("text.npz", input_ids=ids, attention_mask=mask)
        made, said = self.quantize(model, "--calibration", data, "--test", data)
        self.assertEqual(made["quality"]["samples"], SAMPLES)
        self.assertIn("input_ids", said)
        floats = self.archive("floats.npz", input_ids=ids, attention_mask=("<f4", "f", [SAMPLES, 5], [1] * 5 * SAMPLES))
        refused = self.mscgym("quantize", model, "--calibration", floats)
        self.assertIn("holds f32 samples; the model's input 'attention_mask' needs i64", refused.stderr)
        few = self.archive("few.npz", input_ids=ids, attention_mask=("<i8", "q", [3, 5], [1] * 15))
        refused = self.mscgym("quantize", model, "--calibration", few)
        self.assertIn("24 samples for the input 'input_ids' and 3 for 'attention_mask'", refused.stderr)

    def test_useless_samples_are_told_before_the_work(self):
        model = self.model("plain.onnx", node("MatMul", ["x", "w"], "y"), field(2, "plain"),
                           weights("w", [6, 3], self.source), field(11, value("x", FLOAT, ["n", 6])),
                           field(12, value("y", FLOAT, ["n", 3])))
        zeros = self.npy("zeros.npy", [SAMPLES, 6], [0.0] * 6 * SAMPLES)
        said = self.mscgym("quantize", model, "--calibration", zeros).stderr
        self.assertIn("warning: calibration: input 'x': every number of all samples is 0", said)
        values = self.normal(6 * SAMPLES)
        values[6 * 17 + 2] = float("nan")
        bad = self.npy("bad.npy", [SAMPLES, 6], values)
        refused = self.mscgym("quantize", model, "--calibration", bad)
        self.assertEqual(refused.returncode, 2)
        self.assertIn(f"'{bad}' (sample 17, counted from 0) holds a number that is not finite", refused.stderr)


if __name__ == "__main__":
    e2e.main()
