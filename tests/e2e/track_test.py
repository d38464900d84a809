"""mscgym track: the values of a model are compared stage by stage."""

import json
import os

import e2e


class Track(e2e.SearchTest):
    def test_values_are_compared_with_what_operators_mean(self):
        model = e2e.small_config()["model"]
        report = json.loads(self.succeed("track", model, "--targets", "onednn,native", "--random",
                                         "3", "--bisect", "--json", "--store",
                                         self.at("values")).stdout)
        self.assertEqual([stage["reference"] for stage in report["stages"]], ["baseline"] * 2)
        for stage in report["stages"]:
            self.assertGreater(len(stage["errors"]), 10)
            self.assertNotIn("first", stage)
        self.assertEqual([row["blame"] for row in report["bisections"]], ["none"] * 2)
        self.assertGreater(len(os.listdir(self.at("values"))), 40)
        # Rules pick values stage by stage.
        names = [row["value"] for row in report["stages"][0]["errors"]][:3]
        page = self.at("track.html")
        rules = self.write("rules.json", [
            {"methods": {"tensor": "watch"}, "tensor_names": names[:2], "stages": ["compile"]},
            {"methods": {"tensor": {"method_name": "save_compared", "compare_to": "x"}},
             "tensor_names": names[2:], "stages": ["baseline"]}])
        done = self.mscgym("track", model, "--targets", "onednn", "--random", "3", "--json",
                           "--rules", rules, "--page", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'compare_to' of method 'save_compared' is passed over", done.stderr)
        self.assertEqual([row["value"] for row in json.loads(done.stdout)["stages"][0]["errors"]],
                         names[:2])
        text = e2e.read(page).decode()
        self.assertEqual(text.count("<tr><td class='name'>"), 2)
        self.assertIn("<svg class='bars'", text)

        # An artefact is compared with its own strategy.
        pruned, artefact = self.at("pruned.json"), self.at("artefact")
        self.succeed("prune", model, "--density", "0.9", "--save-plan", pruned)
        self.succeed("compile", model, "--strategy", pruned, "--out", artefact)
        done = self.mscgym("track", model, "--artefact", artefact, "--random", "3", "--bisect",
                           "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["stages"][0]["stage"], "optimized")
        # Or with the model as it was: pruning shows.
        int8 = self.at("int8.json")
        data = e2e.small_config()["calibration"]["data"]
        self.succeed("quantize", model, "--calibration", data["images"], "--samples", "32",
                     "--save-plan", int8)
        errors = {}
        for against in ("optimized", "baseline"):
            report = json.loads(self.succeed("track", model, "--strategy", int8, "--random", "3",
                                             "--tolerance", "1000", "--against", against,
                                             "--json").stdout)
            self.assertEqual([stage["reference"] for stage in report["stages"]],
                             ["baseline", against])
            errors[against] = report["stages"][1]["errors"][-1]["relative"]
        self.assertLess(errors["optimized"], errors["baseline"])
        for options, text in ((["--tensors", "x"], "--tensors excludes --bisect"),
                              (["--store-mb", "0.01"], "--bisect needs all values, but ")):
            done = self.mscgym("track", model, "--random", "3", "--bisect", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        done = self.mscgym("track", model, "--random", "3", "--input", "x.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give one of --input, --data and --random", done.stderr)


if __name__ == "__main__":
    e2e.main()
