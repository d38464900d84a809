"""mscgym export --for: each runtime finds its integer kernels in the file, and all of them decide alike."""

import json
import subprocess
import unittest

import e2e

IMAGES = 200
# Of 200 images, the share that each pair of runtimes must give one class. Measured: 1.0.
LEAST_ALIKE = 0.98
NEWER_SETS = ("21", "25")

# Prints, by file: the classes of the images, and what the runtime made of the convolutions.
IN_RUNTIMES = """
import gzip, json, sys, tempfile
import numpy as np, onnx, onnxruntime, openvino
folder, images, count, files = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
with gzip.open(images) as file:
    pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)[:count]
batch = ((pixels / 255 - 0.286) / 0.353).astype(np.float32)
found = {}
for name in files:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    with tempfile.NamedTemporaryFile(suffix=".onnx") as optimized:
        settings.optimized_model_filepath = optimized.name
        session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx", settings, providers=["CPUExecutionProvider"])
        ops = [node.op_type for node in onnx.load(optimized.name).graph.node]
    scores = session.run(None, {session.get_inputs()[0].name: batch})[0]
    found[name] = {"classes": scores.argmax(1).tolist(), "ops": ops}
compiled = openvino.Core().compile_model(f"{folder}/openvino.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
scores = compiled([batch])[compiled.outputs[0]]
kinds = []
for op in compiled.get_runtime_model().get_ordered_ops():
    facts = {key: str(op.get_rt_info()[key].astype(str)) for key in ("layerType", "runtimePrecision")
             if key in op.get_rt_info()}
    if facts.get("layerType") == "Convolution":
        kinds.append(facts["runtimePrecision"])
found["openvino"] = {"classes": scores.argmax(1).tolist(), "convolutions": kinds}
print(json.dumps(found))
"""


class ExportForReaders(e2e.ShippedModelTest):
    def setUp(self):
        super().setUp()
        self.plan = self.at("plan.json")
        # Products with weights of 7 bits overflow on no CPU. The first layer in f32 takes the loss to 0.68 or 0.76 of itself, by how
        # f32 kernels round, and --keep-f32 auto decides by 0.75: all layers are quantized here.
        self.bits = ["--bits", "7", "--keep-f32", "none"]
        self.succeed("quantize", self.model, *self.calibration, *self.bits, "--no-speed", "--save-plan", self.plan)

    def export(self, reader, *options):
        return self.succeed("export", self.model, "--strategy", self.plan, "--for", reader, "--out",
                            self.at(f"{reader}.onnx"), *options).stdout

    def test_says_what_it_wrote_and_what_differs(self):
        self.assertRegex(self.export("any"), r"^wrote .*any\.onnx for any runtime: opset 13, \d\.\d\d MB, \d+ % of .*\n$")
        text = self.export("onnxruntime", "--opset", "15")
        self.assertIn("for ONNX Runtime: opset 15", text)
        self.assertIn("values are rounded to 8 bits for ONNX Runtime alone", text)
        self.assertIn("TensorRT takes only i8 with zero point 0", self.export("tensorrt"))
        refused = self.mscgym("export", self.model, "--for", "onnx-runtime", "--out", self.at("x.onnx"))
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("onnxruntime", refused.stderr)

    def test_quantize_writes_what_export_writes(self):
        made = json.loads(self.succeed("quantize", self.model, *self.calibration, *self.bits, "--no-speed", "--json", "--for",
                                       "onnxruntime", "--out", self.at("direct.onnx")).stdout)
        self.assertEqual((made["written"]["for"], made["written"]["opset"]), ("onnxruntime", 13))
        self.assertEqual(made["written"]["bytes"], len(e2e.read(self.at("direct.onnx"))))
        self.export("onnxruntime")
        self.assertEqual(e2e.read(self.at("direct.onnx")), e2e.read(self.at("onnxruntime.onnx")))

    def test_runtimes_find_their_integer_kernels(self):
        python = e2e.peers_python("peers")
        if python is None:
            self.skipTest("scripts/setup --peers has made no environment 'peers'")
        for reader in ("any", "onnxruntime", "openvino"):
            self.export(reader)
        newer = {f"onnxruntime at {opset}": opset for opset in NEWER_SETS}
        for name, opset in newer.items():
            self.succeed("export", self.model, "--strategy", self.plan, "--for", "onnxruntime", "--opset", opset, "--out",
                         self.at(f"{name}.onnx"))
        images = e2e.small_config()["quality"]["data"]["images"]
        done = subprocess.run([python, "-c", IN_RUNTIMES, self.folder, images, str(IMAGES), "any", "onnxruntime", *newer],
                              capture_output=True, text=True, check=False, timeout=e2e.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        for name in ("onnxruntime", *newer):
            ours = found[name]["ops"]
            self.assertEqual([op for op in ours if op in ("Conv", "FusedConv", "Gemm", "FusedGemm")], [], (name, ours))
            self.assertEqual((ours.count("QLinearConv"), ours.count("QLinearAdd")), (13, 4), name)
        self.assertEqual(set(found["openvino"]["convolutions"]) - {"u8", "i8"}, set())
        for reader, one in found.items():
            for other in found.values():
                alike = sum(map(int.__eq__, one["classes"], other["classes"])) / IMAGES
                self.assertGreaterEqual(alike, LEAST_ALIKE, reader)


if __name__ == "__main__":
    e2e.main()
