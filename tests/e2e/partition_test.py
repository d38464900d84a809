"""mscgym partition: a plan over targets, and its replay."""

import json
import os
import shutil
import signal
import time
import unittest

import e2e
import large_dag

MODEL = os.path.join(e2e.ROOT, "experiments", "models", "fashion_resnet.onnx")
TARGETS = "reference,reference:threads=1"


class Partition(e2e.SearchTest):

    def partition(self, *arguments):
        return self.mscgym("partition", MODEL, "--cache", self.at("costs"), "--max-ms", "30",
                           "--rounds", "1", *arguments)

    def proposal(self):
        return json.loads(self.partition("--targets", TARGETS, "--dry-run", "--json").stdout)

    def test_a_plan_is_found_written_and_replayed(self):
        self.assertGreater(self.proposal()["to_measure"], 0)
        canonical = self.succeed("inspect", MODEL, "--canonical", "--text").stdout
        names = [line.split("@", 1)[1].split()[0].strip('"') for line in canonical.splitlines()
                 if " @" in line]
        pins = ("--pin", names[0] + "=reference:threads=1", "--pin", names[-1] + "=reference")
        out = self.at("plan")
        done = self.partition("--targets", TARGETS, "--json", "--out", out, *pins)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["gap"], 0)
        self.assertEqual(sum(plan["best"] for plan in answer["plans"]), 1)
        self.assertEqual(answer["regions"][0]["target"], "reference:threads=1")
        self.assertEqual(answer["regions"][-1]["target"], "reference")
        with open(os.path.join(out, "strategy.json"), encoding="utf-8") as file:
            strategy = json.load(file)
        self.assertEqual(len(strategy["partition"]), len(answer["regions"]))
        for name in ("partition.html", "partition.dot"):
            self.assertGreater(os.path.getsize(os.path.join(out, name)), 500)
        # What was measured is known now, whole plans included.
        self.assertEqual(self.proposal()["to_measure"], 0)
        self.assertEqual(answer["plans_taken"], "")
        again = json.loads(self.partition("--targets", TARGETS, "--json", *pins).stdout)
        self.assertTrue(again["plans_taken"].endswith(" UTC"))
        self.assertEqual(again["plans"], answer["plans"])
        self.assertEqual(again["where"]["build_regions"] + again["where"]["time_plans"], 0)
        # What was measured is a sample for other models; of one model it is too little.
        for batch, option, known in (("2", "--learned", {(1, False)}),
                                     ("3", "--no-learned", set())):
            done = self.partition("--targets", "reference", "--batch", batch, option, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            errors = json.loads(done.stdout)["learned"]["errors"]
            self.assertEqual({(error["models"], error["trusted"]) for error in errors}, known)
        fresh = self.partition("--targets", TARGETS, "--fresh", "--compare", "collage,paper", *pins)
        self.assertEqual(fresh.returncode, 0, fresh.stderr)
        self.assertNotIn("kept from an earlier run", fresh.stdout)
        self.assertIn("paper", fresh.stdout)
        compiled = self.succeed("compile", MODEL, "--strategy", os.path.join(out, "strategy.json"),
                                "--out", self.at("artefact"))
        self.assertIn(f"{len(answer['regions'])} regions on reference", compiled.stdout)
        bench = self.succeed("bench", MODEL, "--max-ms", "30", "--targets", "reference",
                             "--strategy", os.path.join(out, "strategy.json"), "--json")
        rows = {row["target"]: row for row in json.loads(bench.stdout)["rows"]}
        self.assertLess(rows["(mixed)"]["f32_error"], 1e-4)
        self.assertEqual([region["micros"] for region in strategy["partition"]],
                         [region["micros"] for region in answer["regions"]])
        unknown = self.mscgym("compile", MODEL, "--out", self.at("no"), "--strategy", self.write(
            "unknown.json", {k: v for k, v in strategy.items() if k != "model_hash"}))
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("does not say of which model", unknown.stderr)
        strategy["model_hash"] = "0" * 64
        other = self.write("other.json", strategy)
        refused = self.mscgym("compile", MODEL, "--strategy", other, "--out", self.at("no"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("the strategy was made for another model", refused.stderr)

    def test_regions_may_run_in_another_precision(self):
        canonical = self.succeed("inspect", MODEL, "--canonical", "--text").stdout
        first = canonical.split(" @", 1)[1].split()[0].strip('"')
        out = self.at("plan")
        done = self.partition("--targets", "reference", "--precision", "bf16", "--or-in", "f32",
                              "--pin", first + "=reference:precision=f32", "--json", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        regions = json.loads(done.stdout)["regions"]
        self.assertEqual(regions[0]["target"], "reference:precision=f32")
        with open(os.path.join(out, "strategy.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("precision=", text)
        self.assertEqual(json.loads(text)["quantize"]["layers"][first], "f32")
        self.succeed("compile", MODEL, "--strategy", os.path.join(out, "strategy.json"), "--out",
                     self.at("artefact"))

    def test_a_search_tries_targets_with_images_in_another_layout(self):
        config = e2e.small_config()
        config.update(env="partition", trials=2, target="onednn",
                      partition={"targets": ["onednn", "xnnpack"], "images": "both"})
        config["quality"].update(samples=20, final_samples=20)
        run = self.at("run")
        done = self.mscgym("search", self.write("config.json", config), "--out", run, "--trials", "4",
                           env=dict(os.environ, XDG_CACHE_HOME=self.at("xdg")))
        if done.returncode == 2 and "xnnpack" in done.stderr:
            self.skipTest(done.stderr)  # not in this build
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("anchor:xnnpack:images=channels_last",
                      {trial["source"] for trial in e2e.trials(run).values()})

    def test_a_search_places_parts_and_goes_on_with_the_costs_it_had(self):
        config = e2e.small_config()
        config.update(env="partition", agent="collage", trials=4, target="reference",
                      partition={"targets": TARGETS.split(",")})
        config["quality"].update(samples=20, final_samples=20)
        path = self.write("config.json", config)
        run = self.at("run")
        environment = dict(os.environ, XDG_CACHE_HOME=self.at("xdg"))
        self.succeed("search", path, "--out", run, "--trials", "3", env=environment)
        self.assertTrue(os.path.isdir(self.at("xdg", "mscgym", "regions")))
        names = {trial["source"] for trial in e2e.trials(run).values()}
        self.assertEqual(names, {"anchor:" + target for target in TARGETS.split(",")} | {"collage"})
        with open(os.path.join(run, "best", "strategy.json"), encoding="utf-8") as file:
            strategy = json.load(file)
        used = {strategy["target"]} | {region["target"] for region in strategy.get("partition", [])}
        self.assertTrue(used <= set(TARGETS.split(",")))
        self.assertIn(b"boundary_us", e2e.read(os.path.join(run, "report.html")))
        # Who is pinned is no decision any more.
        name = "/stem/stem.0/Conv"
        config["partition"]["pin"] = {name: TARGETS.split(",")[1]}
        pinned = self.at("pinned")
        self.succeed("search", self.write("pinned.json", config), "--out", pinned, "--trials", "2",
                     env=environment)
        setup = e2e.records(pinned, b"setup")[-1]["setup"]
        decisions = {d["name"]: d["choices"] for d in setup["decisions"]}
        self.assertEqual(decisions[name], [TARGETS.split(",")[1]])
        del config["partition"]["pin"]
        # What it measures is a sample for other models; its own say nothing of it.
        config["partition"]["learned"] = True
        path_learned = self.write("learned.json", config)
        for known in (False, True):
            learned = self.succeed("search", path_learned, "--out", self.at(f"learned{known}"),
                                   "--trials", "1", env=environment)
            self.assertNotIn("learned for", learned.stderr)
            self.assertTrue(os.listdir(self.at("xdg", "mscgym", "regions", "samples")))
        config["partition"]["learned"] = False
        # With other costs the same choices would be other plans: they come from the run itself.
        shutil.rmtree(self.at("xdg"))
        first = e2e.trials(run)
        self.succeed("search", path, "--out", run, "--resume", env=environment)
        self.assertFalse(os.path.exists(self.at("xdg", "mscgym", "regions")))
        self.assertEqual(len(e2e.trials(run)), 4)
        self.assertEqual({n: t for n, t in e2e.trials(run).items() if n in first}, first)
        self.succeed("export-study", run, "--to", "csv", "--out", self.at("study.csv"))
        config["partition"]["targets"] = ["reference"]
        refused = self.mscgym("search", self.write("other.json", config), "--out", run, "--resume")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("another config", refused.stderr)

    def test_rules_of_a_user_offer_regions_that_are_measured_and_named(self):
        canonical = self.succeed("inspect", MODEL, "--canonical", "--text").stdout
        names = [line.split("@", 1)[1].split()[0].strip('"') for line in canonical.splitlines()
                 if " @" in line]
        rules = {"rules": [
            {"name": "tail", "pattern": "Relu(Add(*, *))"},
            {"name": "mine", "nodes": names[:2], "targets": ["reference:threads=1"]},
            {"name": "nothing", "pattern": "Tanh(Tanh)"}]}
        path = self.write("rules.json", rules)
        done = self.partition("--targets", TARGETS, "--rules", path, "--dry-run", "--json")
        self.assertIn("rule 'nothing' matches nothing in the canonical graph", done.stderr)
        by_rule = {(row["target"], row["rule"]): row["candidates"]
                   for row in json.loads(done.stdout)["by_rule"]}
        for target in TARGETS.split(","):
            self.assertGreater(by_rule[target, "tail"], 0)
        self.assertEqual(by_rule["reference:threads=1", "mine"], 1)
        self.assertNotIn(("reference", "mine"), by_rule)
        # One region with these two nodes and not the third: the rule's.
        ends = ["--pin", names[0] + "=reference:threads=1", "--pin",
                names[1] + "=reference:threads=1", "--pin", names[2] + "=reference",
                "--max-regions", "reference:threads=1=1", "--rules", path, "--targets", TARGETS]
        done = self.partition("--json", "--out", self.at("plan"), *ends)
        self.assertEqual(done.returncode, 0, done.stderr)
        region = json.loads(done.stdout)["regions"][0]
        self.assertEqual((region["target"], region["rule"]), ("reference:threads=1", "mine"))
        self.assertEqual([node.split(" ")[0] for node in region["nodes"]], names[:2])
        self.assertIn("(mine)", self.partition(*ends).stdout)
        self.succeed("compile", MODEL, "--strategy", self.at("plan", "strategy.json"),
                     "--out", self.at("artefact"))

        for rule, targets, text in (
                ({"nodes": [names[0], names[-1]]}, TARGETS,
                 "rule 'a': a path leaves its nodes and comes back through"),
                ({"nodes": ["nowhere"]}, TARGETS, "names node 'nowhere', which the graph does not"),
                ({"pattern": "Relu(Conv", "targets": ["reference"]}, TARGETS,
                 "'rules[0].pattern', column 10: ')' or ',' belongs here"),
                ({"nodes": ["/stem/stem.0/Conv"], "targets": ["blas"]}, "reference,blas",
                 "rule 'a': blas does not take node '/stem/stem.0/Conv' (Conv)")):
            path = self.write("wrong.json", {"rules": [{"name": "a", **rule}]})
            done = self.partition("--targets", targets, "--rules", path)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(text, done.stderr)

    def test_a_search_keeps_to_the_rules_it_began_with(self):
        rules = {"rules": [{"name": "tail", "pattern": "Relu(Add(*, *))"}], "only": ["reference"]}
        self.write("rules.json", rules)
        config = e2e.small_config()
        config.update(env="partition", agent="random", trials=2, target="reference",
                      partition={"targets": TARGETS.split(","), "rules": "rules.json"})
        config["quality"].update(samples=20, final_samples=20)
        path = self.write("config.json", config)
        environment = dict(os.environ, XDG_CACHE_HOME=self.at("xdg"))
        self.succeed("search", path, "--out", self.at("run"), "--trials", "1", env=environment)
        self.succeed("search", path, "--out", self.at("run"), "--resume", env=environment)
        rules["rules"][0]["pattern"] = "Relu(Conv)"
        self.write("rules.json", rules)
        refused = self.mscgym("search", path, "--out", self.at("run"), "--resume", "--trials", "3")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("with another config or other rules", refused.stderr)

    def test_a_dry_run_lists_candidates_and_time_may_be_limited(self):
        before = self.proposal()
        rows = before["list"]
        self.assertEqual(len(rows), before["candidates"])
        self.assertEqual(sum(row["estimated_seconds"] > 0 for row in rows), before["to_measure"])
        self.assertFalse(any(row["known"] for row in rows))
        same = [row for row in rows if "same_as" in row]
        self.assertTrue(same, "some layers are equal")
        self.assertTrue(all(row["estimated_seconds"] == 0 for row in same))
        self.assertEqual({rows[row["same_as"]]["target"] for row in same},
                         {row["target"] for row in same})
        text = self.partition("--targets", TARGETS, "--dry-run").stdout
        self.assertIn("/stem/stem.0/Conv (node)", text.replace("(unit)", "(node)"))
        done = self.partition("--targets", TARGETS, "--minutes", "0.0001", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertGreater(answer["unmeasured"], 0)
        self.assertEqual(sum(plan["best"] for plan in answer["plans"]), 1)
        self.assertGreater(answer["peak_bytes"], 0)
        self.assertIn("time ran out: the costs of ",
                      self.partition("--targets", TARGETS, "--minutes", "0.0001").stdout)
        done = self.partition("--targets", TARGETS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["unmeasured"], 0)
        after = self.proposal()
        self.assertEqual(after["to_measure"], 0)
        self.assertTrue(all(row["known"] and row["micros"] > 0 for row in after["list"]))

    def test_given_costs_are_solved_and_nothing_is_measured(self):
        model = self.at("dag.onnx")
        with open(model, "wb") as file:
            file.write(large_dag.model(300))

        def run(*arguments):
            return self.mscgym("partition", model, "--cache", self.at("costs"), *arguments)

        targets = ("--targets", "native,reference")
        if self.mscgym("partition", model, *targets, "--dry-run").returncode != 0:
            targets = ("--targets", TARGETS)
        listed = json.loads(run(*targets, "--images", "dense", "--dry-run", "--json").stdout)
        self.assertGreater(listed["nodes"], 200)
        self.assertLess(listed["candidates"], 2 * 10 * listed["nodes"], "a few for each node")
        rows = large_dag.costs(listed["list"])
        given = self.write("given.json", {"list": rows})
        out = self.at("plan")
        done = run(*targets, "--costs", given, "--json", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["gap"], answer["measured"], answer["candidates"]),
                         (0, 0, listed["candidates"]))
        self.assertGreater(answer["peak_bytes"], 0)
        # What is chosen covers every node once, and its costs are those that were given.
        costs = {(row["target"], tuple(row["nodes"])): row["micros"] for row in rows}
        regions = [(region["target"], tuple(node.split(" ")[0] for node in region["nodes"]))
                   for region in answer["regions"]]
        names = [name for _, nodes in regions for name in nodes]
        self.assertEqual((len(names), len(set(names))), (listed["nodes"],) * 2)
        best = answer["plans"][0]["predicted_micros"]
        self.assertAlmostEqual(sum(costs[region] for region in regions), best, places=3)
        self.assertLessEqual(best, min(cost for (_, nodes), cost in costs.items()
                                       if len(nodes) == listed["nodes"]))
        self.assertEqual(e2e.files_below(self.at("costs")), {}, "nothing was measured")
        with open(os.path.join(out, "strategy.json"), encoding="utf-8") as file:
            plan = json.load(file)["partition"]
        self.assertEqual([(region["target"], tuple(region["nodes"])) for region in plan], regions)
        text = run(*targets, "--costs", given).stdout
        self.assertIn("nothing was measured", text)
        self.assertIn("peak memory: ", text)
        # Another order of rows is the same; what is not given is left out; what is no candidate is
        # said.
        fewer = [row for row in reversed(rows) if len(row["nodes"]) < 3]
        fewer.append({"target": "warp", "nodes": ["n1"], "micros": 1})
        done = run(*targets, "--json", "--costs", self.write("fewer.json", {"list": fewer}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 regions in", done.stderr)
        self.assertIn("warp n1", done.stderr)
        self.assertGreater(json.loads(done.stdout)["plans"][0]["predicted_micros"], best)
        for content, message in (
                ("{}", "has no 'list' of costs"), ("{", "is not valid JSON"),
                ({"list": [{"nodes": ["n1"]}]}, "row 1 of 'list': it has no 'target'"),
                ({"list": rows[:1] + [dict(rows[1], micros=-1)]},
                 "row 2 of 'list': 'micros' is not a number from 0 to 1e+08"),
                ({"list": [dict(rows[0], nodes=[])]}, "'nodes' is not a list of names"),
                ({"list": rows[:1]}, "no target can compute node")):
            done = run(*targets, "--costs", self.write("wrong.json", content))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(message, done.stderr)
        for arguments in (("--lazy",), ("--dry-run",), ("--images", "both"), ("--minutes", "1")):
            done = run(*targets, "--costs", given, *arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("excludes", done.stderr + done.stdout)

    def test_a_memory_limit_is_kept(self):
        limit = ("--targets", TARGETS, "--search", "ilp", "--max-mb")
        done = self.partition(*limit, "1000", "--json")
        if "was made without CBC" in done.stderr + done.stdout:
            self.skipTest("this build has no CBC")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(json.loads(done.stdout)["gap"], 1e-6)
        # The weights alone are 2.8 MiB.
        done = self.partition(*limit, "2")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no choice of candidates covers every node exactly once and keeps the conditions",
                      done.stderr)

    def test_an_interrupt_keeps_what_was_measured(self):
        before = self.proposal()["to_measure"]
        process = self.start("partition", MODEL, "--cache", self.at("costs"), "--targets", TARGETS)
        end = time.monotonic() + e2e.DEADLINE_S
        while len(e2e.files_below(self.at("costs"))) < 2:
            self.assertIsNone(process.poll(), "it ended before it could be interrupted")
            self.assertLess(time.monotonic(), end, "nothing was measured in time")
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=e2e.DEADLINE_S)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("stopped; measured costs are kept in", errors)
        after = self.proposal()["to_measure"]
        self.assertGreater(after, 0, "it was interrupted")
        self.assertLess(after, before)

    def test_what_makes_no_sense_is_refused(self):
        for arguments, text in (
                (("--targets", "warp"), "unknown target 'warp'"),
                (("--targets", "reference", "--pin", "nothing=reference"), "no node 'nothing'"),
                (("--targets", "reference", "--pin", "nothing"), "write NODE=TARGET"),
                (("--targets", TARGETS, "--pin", "/stem/stem.0/Conv=reference",
                  "--pin", "/stem/stem.0/Conv=reference:threads=1"), "is pinned twice"),
                (("--targets", "reference,blas", "--pin", "/stem/stem.0/Conv=blas"),
                 "blas does not support node '/stem/stem.0/Conv' (Conv), which is pinned to it; pin it to reference"),
                (("--targets", "reference", "--max-regions", "reference"), "write TARGET=COUNT"),
                (("--targets", "reference", "--max-regions", "onednn=1"), "none of the targets"),
                (("--targets", "reference", "--max-mb", "1"), "--max-mb needs --search ilp"),
                (("--targets", "reference", "--search", "guess"), "guess"),
                (("--targets", "reference", "--compare", "collage,hope"), "hope"),
                (("--targets", "reference", "--threads", "1000"), "threads are more than the")):
            done = self.partition(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(text, done.stderr + done.stdout)


if __name__ == "__main__":
    e2e.main()
