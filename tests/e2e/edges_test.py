"""What users bring along: files of every kind of number and form, samples that do not fit, labels that
are no classes, models that list more than they use."""

import os
import random
import shutil
import struct
import tempfile
import unittest
import zipfile

import e2e
import onnx_bytes
from onnx_bytes import field, ints, node, value, weights

# NumPy's type, the code of the module struct, ONNX's number of the element type.
NUMBERS = (("<f2", "e", 10), ("<f4", "f", 1), ("<f8", "d", 11), ("|i1", "b", 3), ("<i2", "h", 5),
           ("<i4", "i", 6), ("<i8", "q", 7), ("|u1", "B", 2), ("<u2", "H", 4), ("<u4", "I", 12),
           ("<u8", "Q", 13), ("|b1", "?", 9))


def identity(dtype, dims=(2, 3), copies=1):
    """A model whose outputs are its input."""
    outputs = [f"y{i}" for i in range(copies)]
    return onnx_bytes.model(b"".join(node("Identity", ["x"], y, name=y) for y in outputs) +
                            field(2, "g") + field(11, value("x", dtype, dims)) +
                            b"".join(field(12, value(y, dtype, dims)) for y in outputs))


def classifier(batch="n"):
    """[N, 3, 8, 8] to four classes."""
    source = random.Random(3)
    graph = (node("Conv", ["x", "w"], "c", ints("kernel_shape", [3, 3])) +
             node("Relu", ["c"], "r") + node("GlobalAveragePool", ["r"], "p") +
             node("Flatten", ["p"], "f") + node("MatMul", ["f", "v"], "y") + field(2, "g") +
             weights("w", [6, 3, 3, 3], source) + weights("v", [6, 4], source) +
             field(11, value("x", 1, [batch, 3, 8, 8])) + field(12, value("y", 1, [batch, 4])))
    return onnx_bytes.model(graph)


class Edges(e2e.SearchTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msc_e2e_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def keep(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content)
        return self.at(name)

    def refused(self, text, *arguments):
        done = self.mscgym(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        return done

    def images(self, name, count, shape=(3, 8, 8)):
        source = random.Random(count)
        size = count * shape[0] * shape[1] * shape[2]
        return self.keep(name, e2e.npy("<f4", "f", [count, *shape],
                                       [source.gauss(0, 1) for _ in range(size)]))

    # --- .npy ---

    def test_every_type_of_numpy_is_read_and_written(self):
        numbers = [0, 1, 1, 0, 1, 0]
        for descr, code, dtype in NUMBERS:
            with self.subTest(descr):
                model = self.keep("m.onnx", identity(dtype))
                given = e2e.npy(descr, code, [2, 3], numbers)
                out = self.at("out" + code)
                self.succeed("run", model, "--input", self.keep("x.npy", given), "--out", out)
                written = e2e.read(os.path.join(out, "output_0.npy"))
                self.assertIn(descr.encode(), written)
                self.assertEqual(struct.unpack(f"<6{code}", written[-struct.calcsize(f"<6{code}"):]),
                                 tuple(numbers))

    def test_other_orders_of_bytes_and_axes_are_turned(self):
        model = self.keep("m.onnx", identity(1))
        wanted = e2e.npy("<f4", "f", [2, 3], [1, 2, 3, 4, 5, 6])
        values = struct.pack("<6f", 1, 4, 2, 5, 3, 6)
        fortran = wanted[:-24].replace(b"False", b"True ") + values
        big = wanted[:-24].replace(b"<f4", b">f4") + struct.pack(">6f", 1, 2, 3, 4, 5, 6)
        wide = e2e.npy("<f8", "d", [2, 3], [1, 2, 3, 4, 5, 6])
        half = e2e.npy("<f2", "e", [2, 3], [1, 2, 3, 4, 5, 6])
        for name, given in (("fortran", fortran), ("big", big), ("f64", wide), ("f16", half)):
            with self.subTest(name):
                self.succeed("run", model, "--input", self.keep(name + ".npy", given), "--out",
                             self.at(name))
                self.assertEqual(e2e.read(self.at(name, "output_0.npy"))[-24:], wanted[-24:])

    def test_a_bf16_output_is_written_in_f32(self):
        to = field(1, "to") + field(3, 16) + field(20, 2)
        model = self.keep("m.onnx", onnx_bytes.model(
            node("Cast", ["x"], "y", to) + field(2, "g") + field(11, value("x", 1, [2])) +
            field(12, value("y", 16, [2]))))
        done = self.succeed("run", model, "--input",
                            self.keep("x.npy", e2e.npy("<f4", "f", [2], [1.5, -3])), "--out",
                            self.at("out"))
        self.assertIn("output 0 is bf16, which NumPy does not have; written as f32", done.stderr)
        self.assertEqual(e2e.read(self.at("out", "output_0.npy"))[-8:], struct.pack("<2f", 1.5, -3))

    def test_inputs_that_do_not_fit_are_refused_with_a_way_out(self):
        model = self.keep("m.onnx", classifier())
        one = self.images("one.npy", 1)
        three = self.images("three.npy", 3)
        self.refused("--input names 2 files; inputs of the model: 1", "run", model, "--input", one,
                     "--input", one)
        self.assertIn("f32[3,", self.succeed("run", model, "--input", three).stdout)
        self.refused("give --batch 3", "run", model, "--input", three, "--batch", "2")
        self.succeed("run", model, "--input", three, "--batch", "3")
        self.refused("the model's batch is fixed", "run", self.keep("f.onnx", classifier(1)),
                     "--input", three)
        whole = self.keep("i.npy", e2e.npy("<i4", "i", [1, 3, 8, 8], [1] * 192))
        self.refused("holds i32; the model's input 'x' needs f32", "run", model, "--input", whole)
        ids = self.keep("ids.onnx", identity(3))
        large = self.keep("large.npy", e2e.npy("<i4", "i", [2, 3], [1, 2, 3, 4, 5, 128]))
        self.refused("holds 128, which the model's input 'x' of i8 cannot represent", "run", ids, "--input",
                     large)
        to_float = field(1, "to") + field(3, 1) + field(20, 2)
        four_bits = self.keep("int4.onnx", onnx_bytes.model(
            node("Cast", ["x"], "y", to_float) + field(2, "g") + field(11, value("x", 22, [2, 3])) +
            field(12, value("y", 1, [2, 3])), 21))
        small = self.keep("small.npy", e2e.npy("<i4", "i", [2, 3], [-8, -1, 0, 1, 2, 7]))
        self.succeed("run", four_bits, "--input", small)
        outside = self.keep("outside.npy", e2e.npy("<i4", "i", [2, 3], [-8, -1, 0, 1, 2, 8]))
        self.refused("holds 8, which the model's input 'x' of int4 cannot represent", "run", four_bits,
                     "--input", outside)

    def test_all_wrong_inputs_are_named_and_those_without_a_file_too(self):
        model = self.keep("m.onnx", onnx_bytes.model(
            node("Add", ["a", "b"], "y") + field(2, "g") + field(11, value("a", 1, [1, 2])) +
            field(11, value("b", 1, [1, 2])) + field(12, value("y", 1, [1, 2]))))
        whole = self.keep("i.npy", e2e.npy("<i4", "i", [1, 2], [1, 2]))
        long = self.keep("l.npy", e2e.npy("<f4", "f", [1, 3], [1, 2, 3]))
        good = self.keep("g.npy", e2e.npy("<f4", "f", [1, 2], [1, 2]))
        for file, wrong in ((whole, "holds i32; the model's input '{}' needs f32"),
                            (long, "holds an array [1,3]; the model's input '{}' needs [1,2]")):
            both = "; ".join(f"'{file}' {wrong.format(name)}" for name in "ab")
            self.refused(both, "run", model, "--input", file, "--input", file)
        self.assertIn("inputs without a file of --input get random values: 'b'",
                      self.succeed("run", model, "--input", good).stderr)

    def test_open_sizes_are_those_of_the_files_or_asked_for(self):
        model = self.keep("m.onnx", onnx_bytes.model(
            node("Relu", ["x"], "y") + field(2, "g") + field(11, value("x", 1, ["n", 3, "h", "w"])) +
            field(12, value("y", 1, ["n", 3, "h", "w"]))))
        one = self.images("one.npy", 1)
        way_out = ("mscgym: input 'x' f32[n,3,h,w] leaves 'h' and 'w' open; give all of its sizes by --shape "
                   "x=1x3xhxw")
        for command in (["run", model], ["bench", model], ["compile", model, "--out", self.at("made")],
                        ["partition", model, "--targets", "reference", "--cache", self.at("costs")],
                        ["export", model, "--to", "cpp", "--out", self.at("cpp")]):
            with self.subTest(command[0]):
                self.refused(way_out, *command)
        self.assertFalse(os.path.exists(self.at("made")))
        self.assertIn("f32[1,3,8,8]", self.succeed("run", model, "--input", one).stdout)
        self.succeed("bench", model, "--input", one, "--targets", "reference", "--max-ms", "10")
        self.succeed("bench", model, "--shape", "1x3x4x4", "--targets", "reference", "--max-ms", "10")

    # --- samples ---

    def quantize(self, *arguments):
        return ["quantize", self.keep("m.onnx", classifier()), "--no-speed", *arguments]

    def test_the_name_of_a_file_says_its_form(self):
        source = random.Random(1)
        rows = [[source.gauss(0, 1) for _ in range(192)] for _ in range(40)]
        flat = [number for row in rows for number in row]
        array = e2e.npy("<f4", "f", [40, 3, 8, 8], flat)
        with zipfile.ZipFile(self.at("a.npz"), "w") as archive:
            archive.writestr("images.npy", array)
        lines = "\n".join(",".join(f"{number:.6f}" for number in row) for row in rows)
        pixels = bytes(source.randrange(256) for _ in range(40 * 192))
        idx = struct.pack(">BBBBIIII", 0, 0, 8, 4, 40, 3, 8, 8) + pixels
        os.makedirs(self.at("folder"))
        for i in range(3):
            self.keep(f"folder/{i}.ppm", b"P6 8 8 255\n" + pixels[192 * i:192 * i + 192])
        for name in (self.keep("a.npy", array), self.at("a.npz"), self.at("a.npz") + ":images",
                     self.keep("a.csv", lines.encode()), self.keep("a-idx4-ubyte", idx),
                     self.at("folder")):
            with self.subTest(name):
                self.succeed(*self.quantize("--calibration", name))
        # A wish counts more than a name.
        self.refused("is not an IDX file",
                     *self.quantize("--calibration", self.at("a.npy"), "--format", "idx"))

    def test_all_samples_are_taken_where_nobody_said_how_many(self):
        images = self.images("few.npy", 30)
        self.succeed(*self.quantize("--calibration", images))
        self.succeed("prune", self.keep("p.onnx", classifier()), "--calibration", images, "--density",
                     "0.5", "--align", "1", "--score", "energy", "--no-speed")
        self.refused("has 30 samples; 31 from number 0 on were requested",
                     *self.quantize("--calibration", images, "--samples", "31"))

    def test_a_search_takes_all_samples_and_the_form_of_their_names(self):
        images = self.images("few.npy", 40)
        data = {"images": images}
        config = {"model": self.keep("m.onnx", classifier()), "env": "quantize", "agent": "random",
                  "trials": 1, "finalists": 1, "explain_s": 0, "estimate_s": 0,
                  "calibration": {"data": data}, "quality": {"data": data},
                  "objective": {"minimize": ["weight_bytes"]},
                  "latency": {"max_ms": 20, "max_rounds": 3, "min_rounds": 3, "max_warmup_ms": 5}}
        self.succeed("search", self.write("config.json", config), "--out", self.at("run"))
        config["calibration"]["samples"] = 41
        done = self.mscgym("search", self.write("config.json", config), "--out", self.at("more"))
        self.assertIn("has 40 samples; 41 from number 0 on were requested", done.stderr)

    def test_samples_in_another_order_of_axes_are_refused(self):
        last = self.images("hwc.npy", 20, (8, 8, 3))
        done = self.refused("is [8,8,3]; the model's input needs [3,8,8]",
                            *self.quantize("--calibration", last))
        self.assertIn("--layout hwc", done.stderr)
        self.succeed(*self.quantize("--calibration", last, "--layout", "hwc"))
        self.refused("is [3,4,16]; the model's input needs [3,8,8]",
                     *self.quantize("--calibration", self.images("other.npy", 20, (3, 4, 16))))

    def test_labels_that_are_no_classes_are_named(self):
        images = self.images("images.npy", 20)
        for wrong, text in ((4, "holds 4 in row 7, counted from 0; output 'y' (logits along axis 1) has 4 "
                                "classes, 0 to 3"),
                            (-1, "holds -1 in row 7, counted from 0, which is not a class number")):
            labels = [i % 4 for i in range(20)]
            labels[7] = wrong
            file = self.keep("labels.npy", e2e.npy("<i8", "q", [20], labels))
            self.refused(f"'{file}' {text}",
                         *self.quantize("--calibration", images, "--test", images, "--labels", file))

    # --- models ---

    def test_what_nobody_reads_and_newer_versions_load(self):
        mask = field(1, b"".join((field(1, "x"), field(2, "y"), field(2, "mask"), field(4, "Dropout"))))
        graph = mask + field(2, "g") + field(11, value("x", 1, [2])) + field(12, value("y", 1, [2]))
        for version in (8, 11, 12, 13, 14):
            for opset in (7, 10, 13, 17, 22, 27, 28):
                model = field(1, version) + field(7, graph) + field(8, field(2, opset))
                with self.subTest(version=version, opset=opset):
                    self.succeed("run", self.keep("m.onnx", model))
        self.refused("has ONNX IR version 15; versions 3 to 14 are read", "run",
                     self.keep("m.onnx", field(1, 15) + field(7, graph) + field(8, field(2, 17))))


if __name__ == "__main__":
    e2e.main()
