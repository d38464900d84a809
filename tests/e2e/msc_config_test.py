"""Configs of the original run as they are printed, and what of them is mapped is documented."""

import json
import os

import e2e

# As the documentation of the original MSC prints it, typography included.
FROM_THE_ORIGINAL = """
{
      ...
      "quantize": {
        "strategy_file": "msc_quantize.json",
        "target": "tensorrt",
        “gym”:[
          {
            “record”:”searched_config.json”,
            “env”:{
              “strategy”:”distill_loss”
            },
            “agent”:{
              “type”:”grid_search”,
            }
          },
        ]
      },
      ...
}
"""


class OriginalConfig(e2e.SearchTest):
    """Configs of TVM's MSC, with our own keys beside."""

    def run_with(self, text):
        run = self.at("run")
        done = self.succeed("search", self.write("msc.json", text), "--out", run)
        notes = [line[8:] for line in done.stderr.splitlines() if line.startswith("config: ")]
        return json.loads(e2e.read(os.path.join(run, "config.json"))), notes

    def ours(self):
        config = {**e2e.small_config(), "trials": 2, "finalists": 1}
        for key in ("env", "agent", "target", "objective"):
            del config[key]
        return config

    def test_runs_as_it_is_printed(self):
        target = e2e.small_config()["target"]  # one that computes in 8 bits here
        beside = json.dumps({**self.ours(), "trials": 12, "target": target})[1:-1] + ","
        config, notes = self.run_with(FROM_THE_ORIGINAL.replace("...", beside, 1))
        self.assertEqual((config["env"], config["agent"], config["target"]), ("Quantize-v0", "sweep", target))
        self.assertEqual(config["objective"]["minimize"], ["latency", "distill_loss"])
        self.assertIn("'quantize.target': no effect; tensorrt is not a target of mscgym; "
                      "set 'target' instead", notes)
        self.assertIn("'quantize.gym[0].agent.type': becomes 'agent': \"sweep\"", notes)
        # Beyond the anchors, one layer at a time.
        found = e2e.trials(self.at("run"))
        swept = [trial for trial in found.values() if trial["source"] == "sweep"]
        self.assertGreaterEqual(len(swept), 4)
        for trial in swept:
            self.assertEqual(sum(choice != 0 for choice in trial["assignment"]), 1)
            self.assertIn("metrics", trial)
        strategy, record = self.at("run", "msc_quantize.json"), self.at("run", "searched_config.json")
        self.assertEqual(e2e.read(strategy), e2e.read(self.at("run", "best", "strategy.json")))
        tried = json.loads(e2e.read(record))["trials"]
        self.assertEqual([trial["trial"] for trial in tried], sorted(found))
        for trial in tried:
            self.assertEqual(trial["rewards"], found[trial["trial"]]["metrics"])
            self.assertEqual(len(trial["actions"]), len(found[trial["trial"]]["assignment"]))

    def test_maps_the_whole_key_set(self):
        msc = {
            "model_type": "torch", "inputs": [["image", ["N", 1, 28, 28], "float32"]],
            "outputs": ["scores"], "workspace": "w", "verbose": "debug:2", "log_file": "MSC_LOG",
            "use_cache": True, "dynamic": False, "prepare": {"profile": {"benchmark": {}}},
            "baseline": {"run_type": "torch", "profile": {"check": {"atol": 0.05}}},
            "compile": {"run_type": "onednn", "run_config": {}, "profile": {}},
            "export": {"num_golden": 5},
            "tools": [
                {"tool_type": "pruner", "gym_configs": ["default"],
                 "tool_config": {"plan_file": "p.json", "strategys": [
                     {"methods": {"weights": {"method_name": "per_channel", "density": 0.8,
                                              "stride": 16}}, "stages": ["prune"]}]}},
                {"tool_type": "quantizer", "run_type": "tvm",
                 "tool_config": {"strategys": [{"methods": {
                     "input": {"method_name": "calibrate_kl_divergence", "nbits": 8, "bins": 4096},
                     "weights": "gather_max_per_channel"}, "op_types": ["nn.conv2d"]}]},
                 "gym_configs": [{
                     "config_type": "default", "control_type": "default", "tasks": ["env:0"],
                     "max_iter": 2, "world_size": 1, "record_step": 5,
                     "env": {"role_type": "quantize.default", "max_tasks": -1, "options": {},
                             "executors": {
                                 "create_tasks": {"method": "tasks_tool_extract"},
                                 "reward_runner": {"method": "reward_compare_baseline"},
                                 "action_space": {"method": "action_quantize_scale"}}},
                     "agent": {"role_type": "search.binary", "options": {"max_search": 14},
                               "executors": {"evaluate": {"method": "evaluate_by_loss"}}}}]},
                {"tool_type": "tracker"}]}
        own = self.ours()
        del own["trials"]
        config, notes = self.run_with({**msc, **own})
        self.assertEqual((config["env"], config["agent"], config["target"], config["trials"]),
                         ("Compress-v0", "bisection", "onednn", 14))
        self.assertTrue(any(trial["source"] == "bisection" and "metrics" in trial
                            for trial in e2e.trials(self.at("run")).values()))
        self.assertEqual(config["prune"]["align"], 16)
        self.assertEqual(config["calibration"]["options"]["method"], "entropy")
        self.assertIn("'compile.run_type': becomes 'target': \"onednn\"", notes)
        self.assertIn("'inputs': no effect for 'image', whose sizes are not all numbers", notes)
        self.succeed("compile", config["model"], "--strategy", self.at("run", "p.json"),
                     "--out", self.at("replayed"))
        for key in ("model_type", "tools[2]",
                    "tools[1].gym_configs[0].env.executors.action_space"):
            self.assertTrue(any(note.startswith(f"'{key}': no effect;") for note in notes), key)

    def test_trains_with_the_distiller_and_joins_gyms(self):
        thresh = {"method": "evaluate_by_thresh", "thresh": 0.9}
        gym = {"env": {"executors": {"observation": "layer_states",
                                     "reward_outputs": {"method": "reward_compare_baseline"}}},
               "agent": {"type": "random", "executors": {"evaluate": thresh}}}
        msc = {"prune": {"gym": [gym, {"agent": {"type": "grid_search"}}]},
               "quantize": {"gym": ["default", "default"], "worker_configs": {"worker_0": {}},
                            "strategys": [{"methods": {
                                "input": {"method_name": "gather_maxmin", "nbits": 8},
                                "weights": {"method_name": "gather_max_per_channel", "nbits": 4},
                                "output": {"method_name": "dequantize_normal", "nbits": -1}}}]},
               "distill": {"options": {"max_iter": 1, "save_step": 50, "optimizer": "adam",
                                       "opt_config": {"lr": 0.002, "weight_decay": 1e-4}},
                           "strategys": [{"marks": ["loss"], "methods": {"mark": {
                               "method_name": "loss_lp_norm", "power": 2}}}]}}
        config, notes = self.run_with({**msc, **self.ours()})
        self.assertEqual((config["env"], config["agent"]), ("Compress-v0", "random"))
        self.assertEqual(config["quantize"]["bits"], [4])
        recipe = config["compress"]["distill"]
        self.assertEqual((recipe["epochs"], recipe["rate"], recipe["lp"]), ([1], [0.002], [1.0]))
        self.assertIn("'prune.gym[1].agent.type': ignored; 'agent' is already \"random\"", notes)
        for key in ("prune.gym[0].agent.executors.evaluate", "quantize.worker_configs",
                    "prune.gym[0].env.executors.observation"):
            self.assertTrue(any(note.startswith(f"'{key}': no effect;") for note in notes), key)

    def test_says_that_one_tool_alone_is_not_trained(self):
        gym = {"env": {"strategy": "distill_loss"}, "agent": {"type": "random"}}
        config, notes = self.run_with({"quantize": {"gym": [gym]}, **self.ours(),
                                       "distill": {"options": {"max_iter": 1}}})
        self.assertEqual(config["env"], "Quantize-v0")
        self.assertEqual(config["compress"]["distill"]["epochs"], [])
        self.assertTrue(any(note.startswith("'distill': no effect on the search") for note in notes))

    def test_decides_the_first_tasks_alone(self):
        gym = {"env": {"strategy": "distill_loss", "max_tasks": 2}, "agent": {"type": "grid_search"}}
        run = self.at("run")
        config = {**self.ours(), "quantize": {"gym": [gym]}, "trials": 3}
        self.succeed("search", self.write("msc.json", config), "--out", run)
        setup = e2e.records(run, b"setup")[0]["setup"]
        layers = [layer["name"] for layer in setup["layers"]]
        self.assertGreater(len(layers), 2)
        self.assertEqual([decision["name"] for decision in setup["decisions"]], layers[:2])
        self.assertEqual({len(trial) for trial in e2e.assignments(run).values()}, {2})
        strategy = json.loads(e2e.read(os.path.join(run, "best", "strategy.json")))
        self.assertEqual({strategy["quantize"]["layers"][name] for name in layers[2:]}, {"f32"})
        # What it resolved to decides the same again.
        self.assertEqual(json.loads(e2e.read(os.path.join(run, "config.json")))["quantize"]
                         ["first_layers"], 2)
        self.check_journal_alone(run)


class Reference(e2e.SearchTest):
    def test_documentation_is_what_the_program_prints(self):
        for what, name in (("config", "config.md"), ("msc-config", "msc_config.md")):
            path = os.path.join(e2e.ROOT, "docs", name)
            self.assertEqual(self.succeed("list", what).stdout, e2e.read(path).decode(), name)


if __name__ == "__main__":
    e2e.main()
