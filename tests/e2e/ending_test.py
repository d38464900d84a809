"""How quantize, prune and distill end: with what they wrote, size, speed, agreement, and a command to run
next; with 3 where that may not be used as it is."""

import json
import math
import os
import random
import subprocess
import zipfile

import e2e
from onnx_bytes import field, model, node, value, weights

MISSED = 3
WIDE = 256


def network(dims, inputs=1):
    """Wide layers of the sum of its inputs; their dims begin with "n" where the batch is open."""
    source = random.Random(5)
    constants = b"".join(weights(name, shape, source) for name, shape in
                         (("v", [16, WIDE]), ("w", [WIDE, WIDE]), ("u", [WIDE, 16])))
    names = ["x", "z"][:inputs]
    nodes = (node("Sum", names, "all") + node("MatMul", ["all", "v"], "a", name="first") + node("Relu", ["a"], "r") +
             node("MatMul", ["r", "w"], "b", name="second") + node("Relu", ["b"], "s") +
             node("MatMul", ["s", "u"], "y", name="third"))
    return model(nodes + field(2, "net") + constants + b"".join(field(11, value(name, 1, dims)) for name in names) +
                 field(12, value("y", 1, dims)))


class Ending(e2e.ProgramTest):
    def setUp(self):
        super().setUp()
        self.source = random.Random(6)
        self.net = self.write("net's.onnx", network(["n", 16]))
        self.samples = self.write("x.npy", self.npy([32, 16]))
        self.calibration = ["--calibration", self.samples, "--keep-f32", "none", "--max-ms", "100"]
        self.any = ["--guard-error", "0", "--guard-disagreement", "100"]

    def npy(self, dims):
        return e2e.npy("<f4", "f", dims, [self.source.gauss(0, 1) for _ in range(math.prod(dims))])

    def shell(self, line):
        """Runs what the program says to run next, as a user does who copies it."""
        folder = self.at("bin")
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(folder + "/mscgym"):
            os.symlink(e2e.MSCGYM, folder + "/mscgym")
        environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"]}
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=e2e.DEADLINE_S, env=environment, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, line + "\n" + done.stderr)
        return done.stdout

    def quantize(self, code, *options):
        return json.loads(self.mscgym(code, "quantize", self.net, *self.calibration, "--json", *options).stdout)

    def quantize_slower(self, *options):
        """Quantizes to a slower model; again where other programs made the interval too wide to say so."""
        for _ in range(5):
            done = self.run_any("quantize", self.net, *self.calibration, *options)
            if done.returncode == MISSED:
                break
        self.assertEqual(done.returncode, MISSED, done.stderr + done.stdout)
        return done

    def test_the_next_command_runs_as_it_is(self):
        plan, onnx = self.at("a plan.json"), self.at("out.onnx")
        begins = (([], "mscgym quantize "), (["--save-plan", plan], "mscgym export "),
                  (["--save-plan", plan, "--out", onnx], "mscgym compile "), (["--out", onnx], "mscgym bench "))
        for options, begin in begins:
            with self.subTest(begin):
                # Without speed, nothing is slower.
                made = self.quantize(0, "--no-speed", *options)
                self.assertTrue(made["next"].startswith(begin), made["next"])
                self.assertEqual(made["problems"], [])
                self.shell(made["next"])
        self.assertTrue(os.path.exists(self.at("net's_quantize.onnx")))
        self.assertTrue(os.path.exists(self.at("a plan.onnx")))
        self.assertTrue(os.path.exists(self.at("a plan_artefact/manifest.json")))

    def test_what_is_slower_ends_with_3_where_layers_should_be_faster(self):
        # The reference kernels dequantize what they read.
        slow = ["--target", "reference", "--out", self.at("out.onnx")]
        done = self.quantize_slower(*slow)
        self.assertRegex(done.stderr, r"(?m)^slower: on reference, 1 thread: \d+\.\d+ of the time of f32 \(95 % interval ")
        self.assertRegex(done.stdout.splitlines()[-1], "^next: mscgym bench .* --targets .*native")
        made = json.loads(self.quantize_slower(*slow, "--json").stdout)
        self.assertGreater(made["latency"]["ratio_low"], 1)
        self.assertEqual([problem.split(":")[0] for problem in made["problems"]], ["slower"])
        self.assertEqual(self.quantize(0, *slow, "--no-speed")["no_latency"], "not measured, because of --no-speed")
        # Weights alone are quantized for their size.
        self.assertEqual(self.quantize(0, *slow, "--activations", "f32")["problems"], [])

    def test_limits_are_kept_or_missed_by_name(self):
        test = ["--test", self.samples, "--no-speed", *self.any]
        kept = self.quantize(0, *test, "--limit", "relative_error=0.5", "--limit", "distill_loss=9")
        self.assertEqual([limit["kept"] for limit in kept["limits"]], [True, True])
        done = self.mscgym(MISSED, "quantize", self.net, *self.calibration, "--bits", "2", *test, "--limit",
                           "relative_error=0.01")
        self.assertRegex(done.stderr, r"(?m)^limit: relative error \d\.\d+, more than the limit 0\.01$")
        self.assertRegex(done.stdout, r"(?m)^agreement on 32 samples: ")
        for words, text in ((["--limit", "relativ_error=1"], "did you mean 'relative_error'?"),
                            (["--limit", "relative_error"], "write LOSS=VALUE"),
                            (["--limit", "iou_loss=1"], "the outputs have no loss 'iou_loss'; known: ")):
            refused = self.mscgym(2, "quantize", self.net, *self.calibration, *test, *words)
            self.assertIn(text, refused.stderr)
        refused = self.mscgym(2, "quantize", self.net, *self.calibration, "--limit", "relative_error=1")
        self.assertIn("--limit needs --test", refused.stderr)

    def test_prune_says_what_it_saves(self):
        words = ["prune", self.net, "--density", "0.25", "--target", "reference", "--max-ms", "100", "--out",
                 self.at("out.onnx")]
        made = json.loads(self.mscgym(0, *words, "--json").stdout)
        self.assertGreater(made["latency"]["ratio"], 0)
        self.assertEqual(made["target"], "reference")
        self.assertLess(made["size"]["weight_bytes"], 0.3 * made["size"]["f32_weight_bytes"])
        told = self.mscgym(0, *words).stdout
        for line in (r"^wrote .*out\.onnx for any runtime", r"^size: 0\.\d+ MB of weights, \d+\.\d % of the f32 model's$",
                     r"^speed: on reference, 1 thread: \d+\.\d+ of the time of f32", "^agreement: not measured; give samples with --test$",
                     "^next: mscgym bench "):
            self.assertRegex(told, "(?m)" + line)

    def test_models_of_other_layouts_are_timed(self):
        with zipfile.ZipFile(self.at("two.npz"), "w") as archive:
            for name in ("x.npy", "z.npy"):
                archive.writestr(name, self.npy([32, 16]))
        rows = (("a fixed batch", network([4, 16]), self.samples),
                ("no axis of samples", network([3, 16]), self.write("whole.npy", self.npy([32, 3, 16]))),
                ("open sizes", network(["n", "t", 16]), self.write("steps.npy", self.npy([32, 5, 16]))),
                ("two inputs", network(["n", 16], inputs=2), self.at("two.npz")))
        for label, net, samples in rows:
            with self.subTest(label):
                path = self.write("net.onnx", net)
                made = json.loads(self.mscgym(0, "quantize", path, "--calibration", samples, "--max-ms", "50", "--json",
                                              "--activations", "f32").stdout)
                self.assertGreater(made["latency"]["ratio"], 0)
        # Without samples, the time of open sizes is anyone's guess.
        made = json.loads(self.mscgym(0, "prune", self.write("net.onnx", rows[2][1]), "--density", "0.5",
                                      "--json").stdout)
        self.assertEqual(made["no_latency"], "not measured: the model leaves dimensions of input 'x' open: give "
                                             "samples, or the sizes with --shape")

    def test_the_target_is_one_with_8_bit_kernels(self):
        done = self.mscgym(0, "quantize", self.net, *self.calibration, "--no-speed", "--json", "--save-plan",
                           self.at("plan.json"))
        target = "onednn" if e2e.has_vnni() else "native"
        self.assertIn(f"target: {target} (auto)\n", done.stderr)
        made = json.loads(done.stdout)
        self.assertEqual(made["target"], target)
        self.assertEqual({layer["runs_in"] for layer in made["layers"]}, {"int8"})
        self.assertEqual(json.loads(e2e.read(self.at("plan.json")))["target"], target)
        bench = self.mscgym(0, "bench", self.net, "--max-ms", "20", "--json")
        self.assertEqual([row["target"] for row in json.loads(bench.stdout)["rows"]], [target])


if __name__ == "__main__":
    e2e.main()
