"""`mscgym optimize` needs a model and samples; the config that it writes is one of `mscgym search`."""

import gzip
import json
import os
import struct

import e2e

MODEL = os.path.join(e2e.ROOT, "experiments", "models", "fashion_resnet.onnx")
DATA = "/usr/share/datasets/fashion-mnist"
FORM = ("--mean", "0.286", "--std", "0.353", "--scale", "0.00392156862745098")


class Optimize(e2e.SearchTest):
    def first(self, count):
        """The first test images and their classes, as .npy files."""
        with gzip.open(os.path.join(DATA, "t10k-images-idx3-ubyte.gz")) as file:
            pixels = file.read()[16:16 + count * 784]
        with gzip.open(os.path.join(DATA, "t10k-labels-idx1-ubyte.gz")) as file:
            classes = file.read()[8:8 + count]
        images, labels = self.at(f"images_{count}.npy"), self.at(f"labels_{count}.npy")
        with open(images, "wb") as file:
            file.write(e2e.npy("|u1", "B", [count, 1, 28, 28], pixels))
        with open(labels, "wb") as file:
            file.write(e2e.npy("<i4", "i", [count], struct.unpack(f"<{count}b", classes)))
        return images, labels

    def test_finds_a_fast_model_without_a_config(self):
        images, labels = self.first(400)
        done = self.mscgym("optimize", MODEL, "--samples", images, "--labels", labels, *FORM, "--time", "40s",
                           "--out", self.at("out"))
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertIn("100 samples in a random order calibrate, 300 others judge", done.stderr)
        self.assertRegex(done.stderr, r"decides the precision of \d+ layers and the channels of \d+ groups")
        self.assertRegex(done.stderr, r"ruled out: channels of \d+ layers stay, such as those of '/head/Gemm'")
        config = json.loads(e2e.read(self.at("out", "config.json")))
        self.assertEqual(config["objective"]["subject_to"],
                         {"accuracy_drop": 0.5, "disagreement": 2, "relative_error": 0.1})
        self.assertEqual(config["objective"]["minimize"], ["latency"])
        self.assertEqual((config["env"], config["agent"]), ("Compress-v0", "auto"))
        self.assertTrue(os.path.exists(self.at("out", "best", "strategy.json")))
        self.assertTrue(os.path.exists(self.at("out", "report.html")))
        again = self.succeed("search", self.at("out", "config.json"), "--dry-run")
        self.assertIn("Compress-v0", again.stdout)

    def test_refuses_what_cannot_be_before_it_searches(self):
        images, _ = self.first(100)
        few, _ = self.first(5)
        for words, why in ((["--samples", images, "--limit", "cosine_distance=1"], "no loss 'cosine_distance'"),
                           (["--samples", images, "--limit", "accuracy_drop=1"], "needs --labels"),
                           (["--samples", images, "--limit", "disagreemant=1"], "did you mean 'disagreement'"),
                           (["--samples", few], "there are 5 samples; give at least 8"),
                           (["--samples", images, "--time", "soon"], "write a duration such as 90s, 10m or 1.5h"),
                           (["--samples", images, "--time", "3s"], "--time is too short")):
            done = self.mscgym("optimize", MODEL, *words, *FORM, "--out", self.at("none"))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)
            self.assertFalse(os.path.exists(self.at("none")))


if __name__ == "__main__":
    e2e.main()
