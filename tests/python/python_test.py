"""The Python module, with the python3 that it was built for: PYTHON_FOLDER MSCGYM.

Most of it without Gymnasium; gymnasium_test.py is about what is there with it.
"""

import copy
import json
import math
import os
import pydoc
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

try:
    import numpy
except ImportError:
    numpy = None

import mscgym  # noqa: E402
from mscgym import _spaces, wrappers  # noqa: E402
from mscgym import env as env_module  # noqa: E402

import e2e  # noqa: E402


def toy(name, **options):
    return mscgym.make(f"Toy/{name}-v0", **options)


def play(env, seed):
    """Observations and rewards of an episode of drawn, legal actions."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    seen = [observation]
    while True:
        mask = info.get("action_mask")
        action = env.action_space.sample() if mask is None else env.action_space.sample(mask)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append((observation, reward))
        if terminated or truncated:
            return seen, info


class Envs(unittest.TestCase):
    def test_lists_what_there_is(self):
        self.assertIn("Quantize-v0", mscgym.envs())
        self.assertIn("nsga2", mscgym.agents())
        self.assertRegex(mscgym.__version__, r"^\d+\.\d+\.\d+$")

    def test_walks_an_episode_as_gymnasium_does(self):
        env = toy("PrecisionKnapsack", render_mode="ansi")
        self.assertIn(env.reset(seed=1)[0], env.observation_space)
        seen, info = play(env, 3)
        self.assertEqual(len(seen), 1 + len(env.decisions))
        for observation, reward in seen[1:]:
            self.assertIn(observation, env.observation_space)
            self.assertIsInstance(reward, float)
        self.assertIn("latency_ratio", info)
        self.assertEqual(env.render().count("\n"), len(env.decisions))
        self.assertEqual(str(play(env, 3)), str(play(toy("PrecisionKnapsack"), 3)))

    def test_masks_what_is_ruled_out_and_refuses_it(self):
        env = toy("MaskedKnapsack")
        seen, _ = play(env, 0)
        self.assertTrue(seen[-1][0])
        _, info = env.reset()
        while all(info["action_mask"]):
            _, _, _, _, info = env.step(1)
        masked = list(info["action_mask"]).index(0)
        with self.assertRaises(mscgym.UserError):
            env.step(masked)
        env.step(list(info["action_mask"]).index(1))  # the episode goes on

    def test_takes_the_nearest_legal_action_where_that_is_wanted(self):
        env = toy("MaskedKnapsack", illegal="nearest")
        self.assertEqual([env_module.nearest(action, [0, 1, 0, 0, 1]) for action in range(5)],
                         [1, 1, 1, 4, 4])
        replaced = 0
        env.action_space.seed(1)
        for episode in range(5):
            _, info = env.reset()
            done = False
            while not done:
                mask = info["action_mask"]
                action = env.action_space.sample()
                _, _, done, _, info = env.step(action)
                self.assertEqual("action_taken" in info, not mask[action])
                if not mask[action]:
                    replaced += 1
                    self.assertEqual(mask[info["action_taken"]], 1)
        self.assertGreater(replaced, 0)
        with self.assertRaisesRegex(mscgym.UserError, "outside|in the action space|Discrete"):
            env.reset()
            env.step(99)
        # A wrapper does as the env inside, and records what was taken.
        episodes = []
        recorded = wrappers.record(env, episodes.append)
        recorded.reset()
        wanted = [1 + i % 2 for i, _ in enumerate(env.decisions)]
        for action in wanted:
            recorded.step(action)
        self.assertNotEqual([action for action, _ in episodes[0].steps], wanted)
        self.assertEqual(wrappers.replay(toy("MaskedKnapsack"), episodes[0]), episodes[0])

    def test_has_what_every_env_of_gymnasium_has(self):
        with toy("OneMax") as env:
            env.reset(seed=5)
            self.assertEqual(env.np_random_seed, 5)
            drawn = env.np_random.random()
            wrapped = wrappers.time_limit(env, 3)
            wrapped.reset(seed=5)
            self.assertIs(wrapped.np_random, env.np_random)
            self.assertEqual(wrapped.np_random.random(), drawn)
            wrapped.reset()
            self.assertNotEqual(env.np_random.random(), drawn)
            self.assertTrue(wrapped.set_wrapper_attr("mine", 1))
            env.set_wrapper_attr("inner", 2)
            self.assertEqual((wrapped.get_wrapper_attr("mine"), wrapped.get_wrapper_attr("inner")),
                             (1, 2))
            self.assertFalse(env.has_wrapper_attr("mine"))
            wrapped.set_wrapper_attr("inner", 3)
            self.assertEqual(env.inner, 3)
            self.assertFalse(wrapped.set_wrapper_attr("none", 1, force=False))
            self.assertGreater(env.metadata["render_fps"], 0)
        with self.assertRaisesRegex(mscgym.UserError, "closed"):
            env.reset()

    def test_explains_itself(self):
        for name in mscgym.__all__:
            if not name.startswith("__"):
                self.assertTrue(getattr(mscgym, name).__doc__, name)
        self.assertIn("mscgym.make(", pydoc.render_doc(mscgym))
        self.assertEqual(mscgym.UserError.__module__, "mscgym")

    def test_evaluates_assignments_by_name(self):
        env = toy("OneMax")
        on = {name: choices[-1] for name, choices in env.decisions}
        self.assertEqual(env.evaluate(on).metrics["zeros"], 0)
        off = {name: choices[0] for name, choices in env.decisions}
        first, second = env.evaluate([off, on])
        self.assertEqual((first.metrics["zeros"], second.metrics["zeros"]), (len(off), 0))
        self.assertTrue(first.ok)
        self.assertEqual(env.strategy(on), on)
        self.assertIn("assignments", env.describe())
        with self.assertRaisesRegex(mscgym.UserError, "no decisions are called x"):
            env.evaluate({**on, "x": "1"})
        with self.assertRaisesRegex(mscgym.UserError, "there is no choice for"):
            env.evaluate({})

    def test_says_what_is_wrong_as_an_exception(self):
        for wrong, text in (
                (lambda: mscgym.make("Nope-v0"),
                 "there is no env 'Nope-v0'; there are .*Quantize-v0"),
                (lambda: mscgym.make("quantise-v0"), "did you mean 'Quantize-v0'; there are"),
                (lambda: mscgym.make("Quantize-v0"), "needs a model: give it a config="),
                (lambda: mscgym.make("Quantize-v0", 7), "is a dict, or the path .*, not int"),
                (lambda: mscgym.make("Quantize-v0", {"model": {1}}), "what JSON can hold"),
                (lambda: mscgym.make("Quantize-v0", "/no/such.json"), "cannot read"),
                (lambda: mscgym.make("Quantize-v0", {"modle": ""}, program=__file__),
                 "unknown key 'modle'; known here: model, "),
                (lambda: mscgym.make("Toy/OneMax-v0", {"model": "m.onnx"}, program=__file__),
                 "Toy/OneMax-v0 is a toy and takes no config: leave it out"),
                (lambda: toy("OneMax", illegal="skip"), "illegal is 'refuse' or 'nearest'"),
                (lambda: mscgym.make("Quantize-v0", e2e.small_config(), workers=0,
                                     program=__file__), "'workers' must be between 1 and 1024"),
                (lambda: toy("OneMax", render_mode="human"), "render_mode"),
                (lambda: toy("OneMax").step(0), "[Rr]eset"),
                (lambda: toy("OneMax").reset(options={"x": 1.0}), "x"),
                (lambda: toy("OneMax").step("1"), "Discrete")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                wrong()
        env = toy("OneMax")
        env.close()
        with self.assertRaisesRegex(mscgym.UserError, "closed"):
            env.reset()
        self.assertTrue(issubclass(mscgym.UserError, ValueError))

    def test_is_for_one_thread_at_a_time(self):
        env = toy("OneMax")
        everything = {name: choices[-1] for name, choices in env.decisions}
        refused, done = [], []

        def work():
            for _ in range(200):
                try:
                    done.append(env.evaluate([everything] * 20)[0].metrics["zeros"])
                except mscgym.UserError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(done), {0})
        self.assertLessEqual({text.split(";")[0] for text in refused},
                             {"it is in use by another thread"})


class Wrappers(unittest.TestCase):
    def rewards(self, env, seed):
        return [reward for _, reward in play(env, seed)[0][1:]]

    def test_lie_around_each_other(self):
        env = toy("PrecisionKnapsack", render_mode="ansi")
        plain = self.rewards(env, 1)
        halved = wrappers.transform_reward(env, lambda reward: reward / 2)
        self.assertEqual(self.rewards(halved, 1), [reward / 2 for reward in plain])
        moved = wrappers.transform_reward(halved, lambda reward: 1 + reward)
        self.assertEqual(self.rewards(moved, 1), [1 + reward / 2 for reward in plain])
        self.assertIs(moved.unwrapped, env)
        self.assertEqual((moved.decisions, moved.metrics, moved.config),
                         (env.decisions, env.metrics, env.config))
        self.assertEqual(moved.render(), env.render())
        study = mscgym.Study(moved, agent="random")
        trial = study.ask()
        study.tell(trial, moved.evaluate(trial.choices))
        self.assertEqual(study.best.evaluation, env.evaluate(trial.choices))
        moved.close()
        with self.assertRaisesRegex(mscgym.UserError, "closed"):
            env.reset()

    def test_outlive_the_name_of_what_is_inside(self):
        env = wrappers.time_limit(toy("OneMax"), 3)
        self.assertEqual(len(self.rewards(env, 1)), 3)
        self.assertEqual(env.facts["max_steps"], 3)
        env.reset()
        made = [env.step(0)[2:4] for _ in range(3)]
        self.assertEqual(made, [(False, False), (False, False), (False, True)])
        with self.assertRaisesRegex(mscgym.UserError, "[Rr]eset"):
            env.step(0)

    def test_add_noise_by_the_seed_of_the_reset(self):
        env = toy("PrecisionKnapsack")
        noisy = wrappers.reward_noise(env, 0.5)
        self.assertEqual(self.rewards(noisy, 1), self.rewards(noisy, 1))
        self.assertNotEqual(self.rewards(noisy, 1), self.rewards(env, 1))
        self.assertEqual(self.rewards(wrappers.reward_noise(env, 0), 1), self.rewards(env, 1))

    def test_answer_from_a_cache(self):
        # Its noise tells whether the env inside was asked.
        env = wrappers.cache(wrappers.reward_noise(toy("PrecisionKnapsack"), 1), 1)
        ends = []
        for choice in (1, 1, 0, 0):
            env.reset()
            for _ in env.decisions:
                reward = env.step(choice)[1]
            ends.append(reward)
        self.assertEqual(ends[0], ends[1])
        self.assertNotEqual(ends[2], ends[3])  # there was room for one

    def test_record_what_can_be_replayed(self):
        env = toy("PrecisionKnapsack")
        episodes = []
        recorded = wrappers.record(env, episodes.append)
        for seed in (1, 2):
            play(recorded, seed)
        recorded.reset(seed=3)
        recorded.step(0)
        recorded.reset()
        self.assertEqual([episode.seed for episode in episodes], [1, 2, 3])
        self.assertEqual([episode.terminated for episode in episodes], [True, True, False])
        self.assertEqual([reward for _, reward in episodes[0].steps], self.rewards(env, 1))
        for episode in episodes:
            self.assertEqual(wrappers.replay(env, episode), episode)

    def test_say_what_is_wrong(self):
        env = toy("OneMax")
        for wrong, text in (
                (lambda: wrappers.cache(env, 0), "room for at least 1 episode"),
                (lambda: wrappers.cache(env, -1), "room for at least 1 episode"),
                (lambda: wrappers.time_limit(env, 0), "at least 1 step, not 0"),
                (lambda: wrappers.reward_noise(env, -1), "finite number >= 0"),
                (lambda: play(wrappers.transform_reward(env, lambda _: math.nan), 1),
                 "must be a finite number, not nan")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                wrong()
        # What a function raises goes through, and ends the episode.
        broken = wrappers.transform_reward(env, lambda _: [][0])
        broken.reset()
        with self.assertRaises(IndexError):
            broken.step(0)
        with self.assertRaisesRegex(mscgym.UserError, "[Rr]eset"):
            broken.step(0)
        with self.assertRaises(TypeError):
            play(wrappers.transform_reward(env, lambda _: None), 1)
        # Nor may it use the env meanwhile, which others would have to wait for.
        with self.assertRaisesRegex(mscgym.UserError, "in use"):
            play(wrappers.transform_reward(env, lambda _: env.reset()), 1)


class Vectors(unittest.TestCase):
    def rows(self, value):
        """Of a batch, as nested lists."""
        if isinstance(value, dict):
            return {name: self.rows(part) for name, part in value.items()}
        return value.tolist() if hasattr(value, "tolist") else value

    def test_are_their_envs_side_by_side(self):
        envs = mscgym.make_vec("Toy/PrecisionKnapsack-v0", 3)
        self.assertEqual((envs.num_envs, repr(envs)), (3, "VectorEnv(num_envs=3)"))
        alone = [toy("PrecisionKnapsack") for _ in range(3)]
        self.assertIs(envs.single_action_space, envs.envs[0].action_space)
        self.assertIs(envs.single_observation_space, envs.envs[0].observation_space)
        self.assertEqual(envs.metadata["autoreset_mode"].value, "NextStep")
        observations, infos = envs.reset(seed=5)
        wanted = [env.reset(seed=5 + i)[0] for i, env in enumerate(alone)]
        self.assertEqual([env.np_random_seed for env in envs.envs], [5, 6, 7])
        for _ in alone[0].decisions:
            self.assertIn(observations, envs.observation_space)
            for name, batch in self.rows(observations).items():
                self.assertEqual(batch, [self.rows(one[name]) for one in wanted])
            actions = envs.action_space.sample()
            self.assertIn(actions, envs.action_space)
            observations, rewards, terminations, truncations, infos = envs.step(actions)
            made = [env.step(action) for env, action in zip(alone, actions)]
            wanted = [one[0] for one in made]
            for batch, part in ((rewards, 1), (terminations, 2), (truncations, 3)):
                self.assertEqual(self.rows(batch), [one[part] for one in made])
        self.assertEqual(self.rows(terminations), [True] * 3)
        self.assertEqual(self.rows(infos["latency_ratio"]),
                         [one[4]["latency_ratio"] for one in made])
        self.assertEqual(self.rows(infos["_latency_ratio"]), [True] * 3)
        # The next step ignores actions and starts the next episode.
        observations, rewards, terminations, _, infos = envs.step([2, 2, 2])
        self.assertEqual(self.rows(observations["decision"]), [0] * 3)
        self.assertEqual((self.rows(rewards), self.rows(terminations)), ([0] * 3, [False] * 3))
        self.assertNotIn("latency_ratio", infos)
        envs.reset(seed=[9, None, 8])
        self.assertEqual([env.np_random_seed for env in envs.envs], [9, 6, 8])
        envs.close()
        envs.close()
        with self.assertRaisesRegex(mscgym.UserError, "the vector of envs was closed"):
            envs.reset()
        with self.assertRaisesRegex(mscgym.UserError, "the env was closed"):
            envs.envs[0].reset()

    def test_end_each_at_its_own_time(self):
        envs = mscgym.VectorEnv([wrappers.time_limit(toy("OneMax"), limit) for limit in (1, 2)])
        envs.reset()
        ended, decisions = [], []
        for _ in range(5):
            observations, _, _, truncations, _ = envs.step([1, 1])
            ended.append(self.rows(truncations))
            decisions.append(self.rows(observations["decision"]))
        self.assertEqual(ended, [[True, False], [False, True], [True, False], [False, False],
                                 [True, True]])
        self.assertEqual(decisions, [[1, 1], [0, 2], [1, 0], [0, 1], [1, 2]])

    def test_have_masks_and_take_the_nearest(self):
        envs = mscgym.make_vec("Toy/MaskedKnapsack-v0", 2, illegal="nearest", render_mode="ansi")
        envs.reset(seed=1)
        masks = envs.step([1, 2])[4]["action_mask"]
        self.assertEqual(self.rows(masks), [[1, 1, 0], [1, 0, 1]])
        infos = envs.step([2, 2])[4]
        self.assertEqual(self.rows(infos["action_taken"]), [1, 0])
        self.assertEqual(self.rows(infos["_action_taken"]), [True, False])
        self.assertEqual(envs.render(), tuple(env.render() for env in envs.envs))
        self.assertTrue(all(envs.render()))
        strict = mscgym.make_vec("Toy/MaskedKnapsack-v0", 2)
        strict.reset()
        strict.step([1, 2])
        with self.assertRaises(mscgym.UserError):
            strict.step([2, 2])

    def test_reach_into_their_envs(self):
        envs = mscgym.make_vec("Toy/OneMax-v0", 2)
        envs.set_attr("mine", [1, 2])
        self.assertEqual(envs.get_attr("mine"), (1, 2))
        envs.set_attr("illegal", "nearest")
        self.assertEqual(envs.get_attr("illegal"), ("nearest",) * 2)
        self.assertEqual([len(one) for one in envs.call("reset", seed=1)], [2, 2])
        drawn = [envs.reset(seed=3) and envs.np_random.random() for _ in range(2)]
        self.assertEqual(*drawn)

    def test_outlive_the_names_of_their_envs(self):
        first = toy("OneMax")
        core = mscgym.VectorEnv([first, first._another()])._core
        del first
        core.reset([1, 2], {})
        self.assertEqual(core.step([1, 0])[2], [False, False])

    def test_say_what_is_wrong(self):
        env = toy("OneMax")
        two = mscgym.make_vec("Toy/OneMax-v0", 2)
        two.reset()
        for wrong, text in (
                (lambda: mscgym.make_vec("Toy/OneMax-v0", 0), "at least 1, not 0"),
                (lambda: mscgym.make_vec("Nope-v0", 2), "there is no env 'Nope-v0'"),
                (lambda: mscgym.VectorEnv([]), "a vector of envs has at least 1"),
                (lambda: mscgym.VectorEnv(["env"]), "that mscgym.make made, not of str"),
                (lambda: mscgym.VectorEnv([env, wrappers.cache(env)]), "in the vector twice"),
                (lambda: mscgym.VectorEnv([env, toy("PrecisionKnapsack")]),
                 "envs of a vector have the same spaces: env 1 has"),
                (lambda: two.step([1]), "2 envs take as many actions, not 1"),
                (lambda: two.step([1, 9]), "outside|action space|Discrete"),
                (lambda: two.step([1, "x"]), "Discrete"),
                (lambda: two.reset(seed=[1]), "2 envs take as many seeds, not 1"),
                (lambda: two.reset(seed=-1), "a seed is at least 0, not -1"),
                (lambda: two.reset(options={"x": 1.0}), "x"),
                (lambda: two.set_attr("a", [1]), "2 envs take as many values, not 1")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                wrong()


class Spaces(unittest.TestCase):
    """Those that stand in for Gymnasium's."""

    def all(self):
        return [_spaces.Discrete(3, start=2), _spaces.MultiDiscrete([2, 5]),
                _spaces.MultiDiscrete([[2, 5], [1, 3]]), _spaces.MultiBinary(4),
                _spaces.MultiBinary((2, 3)), _spaces.Text(5),
                _spaces.Box([0, -1, -math.inf], [1, math.inf, 0]), _spaces.Box(-1, 1, (2, 3)),
                _spaces.Box(0, 1, ()),
                _spaces.Dict({"b": _spaces.MultiBinary(2), "a": _spaces.Discrete(2)})]

    def test_draw_what_they_contain(self):
        for space in self.all():
            with self.subTest(space):
                self.assertIsNotNone(space.seed(4))
                space.seed(4)
                drawn = [space.sample() for _ in range(50)]
                space.seed(4)
                self.assertEqual(drawn, [space.sample() for _ in range(50)])
                self.assertTrue(all(value in space for value in drawn))
                self.assertNotIn(None, space)
                self.assertNotIn([9] * 9, space)
                self.assertIs(space.np_random, space.np_random)
        self.assertNotIn(True, _spaces.Discrete(3))
        self.assertNotIn(1.0, _spaces.Discrete(3))
        with self.assertRaisesRegex(ValueError, "a seed is an integer of at least 0, not -1"):
            _spaces.Discrete(3).seed(-1)

    def test_make_up_a_seed_and_say_it(self):
        space = _spaces.Discrete(10**9)
        seed = space.seed()
        drawn = space.sample()
        self.assertNotEqual(space.seed(), seed)
        space.seed(seed)
        self.assertEqual(space.sample(), drawn)

    def test_draw_by_masks(self):
        def drawn(space, mask):
            return [space.sample(mask) for _ in range(20)]

        discrete = _spaces.Discrete(3, start=2)
        self.assertEqual(set(drawn(discrete, [0, 1, 0])), {3})
        self.assertEqual(set(drawn(discrete, [1, 0, 1])), {2, 4})
        self.assertEqual(discrete.sample([0, 0, 0]), 2)
        with self.assertRaisesRegex(ValueError, "has 3 flags, not 2"):
            discrete.sample([0, 1])
        many = _spaces.MultiDiscrete([[2, 2], [2, 2]])
        self.assertEqual({str(x) for x in drawn(many, [[[0, 1], [1, 0]], [[1, 0], [0, 1]]])},
                         {"[[1, 0], [0, 1]]"})
        self.assertEqual({str(x) for x in drawn(_spaces.MultiBinary(2), [1, 2])},
                         {"[1, 0]", "[1, 1]"})
        text = _spaces.Text(4, charset="ab")
        self.assertEqual(set(drawn(text, (2, [0, 1]))), {"bb"})
        self.assertEqual({len(x) for x in drawn(text, (None, [0, 1]))}, {1, 2, 3, 4})
        both = _spaces.Dict(a=discrete, b=_spaces.MultiBinary(2))
        self.assertEqual({x["a"] for x in drawn(both, {"a": [0, 0, 1], "b": None})}, {4})
        with self.assertRaisesRegex(ValueError, "masks for a, and the parts a, b"):
            both.sample({"a": None})
        with self.assertRaisesRegex(ValueError, "takes no mask"):
            _spaces.Box(0, 1, (2,)).sample([1, 1])

    def test_have_the_shape_that_they_say(self):
        box = _spaces.Box(-1, [[1, 2, 3], [4, 5, 6]])
        self.assertEqual((box.shape, box.dtype), ((2, 3), "float32"))
        self.assertEqual(box.low, [[-1] * 3] * 2)
        self.assertEqual([len(row) for row in box.sample()], [3, 3])
        self.assertIn([[0] * 3] * 2, box)
        self.assertNotIn([0] * 6, box)
        self.assertNotIn([[0] * 2] * 3, box)
        self.assertNotIn([[0, 0, 3.5], [0] * 3], box)
        with self.assertRaisesRegex(ValueError, r"a bound has the shape \(2,\)"):
            _spaces.Box([0, 0, 0], 1, (2,))
        self.assertEqual([(space.shape, space.dtype) for space in self.all()[:6]], [
            ((), "int64"), ((2,), "int64"), ((2, 2), "int64"), ((4,), "int8"), ((2, 3), "int8"),
            ((), "str")])

    def test_are_equal_by_what_they_contain(self):
        for i, space in enumerate(self.all()):
            same = [other for other in self.all() if other == space]
            self.assertEqual(len(same), 1, space)
            self.assertEqual(hash(same[0]), hash(space))
            self.assertEqual(len({space, *self.all()}), len(self.all()))
            same[0].seed(i)
            self.assertEqual(same[0], space)
            copied = copy.deepcopy(same[0])
            self.assertEqual(copied.sample(), same[0].sample())
        self.assertEqual(repr(_spaces.Discrete(3)), "Discrete(3)")
        self.assertEqual(repr(self.all()[0]), "Discrete(3, start=2)")
        for space in self.all():  # reads back
            if "inf" not in repr(space):
                self.assertEqual(eval(repr(space), vars(_spaces)), space)

    def test_have_parts_as_a_dict_has(self):
        space = self.all()[-1]
        self.assertEqual(list(space), ["a", "b"])
        self.assertEqual(dict(space.items()), space.spaces)
        self.assertEqual((len(space), list(space.values())[0]), (2, _spaces.Discrete(2)))
        seeds = space.seed(1)
        self.assertEqual(seeds, space.seed(1))
        self.assertNotEqual(seeds["a"], seeds["b"])
        drawn = space.sample()
        self.assertEqual(space.seed(seeds), seeds)
        self.assertEqual(space.sample(), drawn)
        with self.assertRaisesRegex(ValueError, "seeds for a, and the parts a, b"):
            space.seed({"a": 1})

    def test_of_several_have_a_row_for_each(self):
        for space in self.all():
            if isinstance(space, _spaces.Text) or space == self.all()[0]:
                with self.assertRaisesRegex(ValueError, "no space here; install Gymnasium"):
                    _spaces.batch_space(space, 2)
                continue
            both = _spaces.batch_space(space, 2)
            if not isinstance(space, _spaces.Dict):
                self.assertEqual((both.shape, both.dtype), ((2, *space.shape), space.dtype))
                self.assertIn([space.sample(), space.sample()], both)
            self.assertIn(both.sample(), both)
        self.assertEqual(_spaces.batch_space(_spaces.Discrete(3), 2),
                         _spaces.MultiDiscrete([3, 3]))

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_contain_values_of_numpy(self):
        self.assertIn(numpy.int64(1), _spaces.Discrete(3))
        self.assertIn(numpy.array(1), _spaces.Discrete(3))
        self.assertNotIn(numpy.array([1]), _spaces.Discrete(3))
        self.assertNotIn(numpy.int64(3), _spaces.Discrete(3))
        self.assertNotIn(numpy.float64(1), _spaces.Discrete(3))
        for space in self.all():
            if space.shape is not None and not isinstance(space, _spaces.Text):
                drawn = numpy.asarray(space.sample())
                self.assertEqual((drawn.shape, numpy.dtype(space.dtype).kind),
                                 (space.shape, drawn.dtype.kind))
                self.assertIn(drawn, space)
                self.assertNotIn(drawn - 1000, space)
        self.assertEqual(_spaces.Discrete(3).sample(numpy.array([0, 1, 0], numpy.int8)), 1)
        self.assertEqual(_spaces.Box(numpy.zeros((2, 3)), 1), _spaces.Box(0, 1, (2, 3)))

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_actions_of_numpy_are_taken(self):
        env = toy("OneMax")
        env.reset()
        env.step(numpy.int64(1))
        env.step(numpy.array(1))
        with self.assertRaisesRegex(mscgym.UserError, "Discrete"):
            env.step(numpy.float64(1))


class Studies(unittest.TestCase):
    def test_finds_the_optimum_of_a_toy(self):
        env = toy("PrecisionKnapsack")
        study = mscgym.Study(env, agent="auto", seed=1, minimize="latency_ratio",
                             subject_to={"accuracy_drop": 1.0})
        while len(study.trials) < 200 and (trial := study.ask()):
            study.tell(trial, env.evaluate(trial.choices))
        self.assertTrue(study.trials[0].source.startswith("anchor:"))
        feasible = [t.evaluation.metrics["latency_ratio"] for t in study.trials if t.feasible]
        self.assertEqual(study.best.evaluation.metrics["latency_ratio"], min(feasible))
        self.assertIn(study.best.choices, [t.choices for t in study.pareto] + [study.best.choices])

    def test_knows_what_choices_count(self):
        env = toy("PrecisionKnapsack")
        self.assertEqual({(d.quantity, d.values) for d in env.decisions}, {("bits", (32, 16, 8))})
        study = mscgym.Study(env.decisions, agent="random", seed=1, minimize=["l"])
        self.assertEqual(study.decisions, env.decisions)
        named = mscgym.Study(dict(env.decisions), agent="random", seed=1, minimize=["l"])
        self.assertEqual([d.values for d in named.decisions], [()] * len(env.decisions))
        self.assertEqual(study.ask(), named.ask())
        width = mscgym.Decision("width", [8, 16], "channels", [8, 16])
        self.assertEqual(mscgym.Study([width], minimize=["l"]).decisions,
                         [mscgym.Decision("width", ("8", "16"), "channels", (8, 16))])
        # What it counts is heard of below.
        for quantity, values, text in (("channels", [8], "needs a finite value for each choice"),
                                       ("channels", [8, math.inf], "needs a finite value"),
                                       ("", [8, 16], "does not say what its values count")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                mscgym.Study([mscgym.Decision("width", [8, 16], quantity, values)],
                             minimize=["l"])

    def test_waits_for_results_and_ends_with_the_space(self):
        study = mscgym.Study({name: ["1", "2", "3", "4"] for name in "abcd"}, agent="evolution",
                             minimize=["loss"])
        first = study.ask()
        out = [first]
        with self.assertRaisesRegex(mscgym.UserError, "tell those of the trials 0"):
            while trial := study.ask():
                out.append(trial)
        self.assertEqual(study.waiting, [trial.number for trial in out])
        for trial in reversed(out):
            study.tell(trial, {"loss": float(trial.choices["b"])})
        with self.assertRaisesRegex(mscgym.UserError, "has a result already"):
            study.tell(first, {"loss": 1.0})
        while trial := study.ask():
            study.tell(trial.number, failure="it broke")
        self.assertEqual(len({str(trial.choices) for trial in study.trials}), 256)
        self.assertEqual(study.best.evaluation.metrics["loss"],
                         min(float(trial.choices["b"]) for trial in out))
        failed = [t.evaluation.failure for t in study.trials if not t.evaluation.ok]
        self.assertLessEqual(set(failed), {("crash", "it broke")})

    def test_goes_on_from_what_is_known(self):
        env = toy("PrecisionKnapsack")
        goal = {"seed": 2, "minimize": "latency_ratio", "subject_to": {"accuracy_drop": 1.0}}
        first = mscgym.Study(env, agent="evolution", **goal)
        while len(first.trials) < 60 and (trial := first.ask()):
            first.tell(trial, env.evaluate(trial.choices))
        for agent in mscgym.agents():
            with self.subTest(agent):
                study = mscgym.Study(env, agent=agent, known=first.trials, **goal)
                self.assertEqual([t.source for t in study.trials], ["known"] * len(first.trials))
                self.assertEqual([(t.choices, t.evaluation) for t in study.trials],
                                 [(t.choices, t.evaluation) for t in first.trials])
                self.assertEqual(study.best.number, first.best.number)
                tried = [trial.choices for trial in first.trials]
                for _ in range(20):
                    if (trial := study.ask()) is None:
                        break  # some find out that there is nothing better
                    self.assertNotIn(trial.choices, tried)
                    tried.append(trial.choices)
                    study.tell(trial, env.evaluate(trial.choices))
                # Anchors were known, and are there all the same.
                anchors = [t for t in study.trials if t.source.startswith("anchor:")]
                self.assertEqual(len(anchors), len(env.anchors))
                self.assertTrue(all(t.repeated for t in anchors))

    def test_tells_the_agent_what_is_known(self):
        problem = {name: ["1", "2", "3", "4"] for name in "abcdef"}
        known = [{name: str(1 + (i * k) % 4) for k, name in enumerate("abcdef", 1)}
                 for i in range(4)]

        def asked(best):
            study = mscgym.Study(problem, agent="evolution", minimize="l", known=[
                (choices, {"l": float(i != best)}) for i, choices in enumerate(known)])
            return [study.ask().choices for _ in range(4)]

        self.assertEqual(asked(1), asked(1))
        self.assertNotEqual(asked(1), asked(3))

    def test_knows_results_of_any_kind(self):
        failed = mscgym.Evaluation({}, ("timeout", "slow"), {"tries": 2})
        study = mscgym.Study({"a": [1, 2], "b": ["x", "y"]}, agent="grid", minimize=["l"], known=[
            ({"a": 1, "b": "x"}, {"l": 2.0}), ({"a": 1, "b": "y"}, failed),
            ({"a": "1", "b": "x"}, {"l": 7.0})])
        self.assertEqual(study.trials[1].evaluation, failed)
        # Of two results, the first.
        self.assertEqual([t.evaluation.metrics.get("l") for t in study.trials], [2, None, 2])
        asked = []
        while trial := study.ask():
            asked.append(trial.choices)
            study.tell(trial, {"l": 1.0})
        self.assertEqual(asked, [{"a": "2", "b": "x"}, {"a": "2", "b": "y"}])

    def test_says_what_is_wrong_with_what_is_known(self):
        masked = toy("MaskedKnapsack")
        ruled_out = {name: ("bf16", "int8")[i % 2] for i, (name, _) in enumerate(masked.decisions)}
        small = {"a": ["x"]}
        for problem, known, text in (
                (small, ({"a": "y"}, {"l": 1}), "'a' has the choices x, not 'y'"),
                (small, ({}, {"l": 1}), "there is no choice for 'a'"),
                (small, ({"a": "x"}, {"m": 1}), "trial 0 needs a finite 'l'"),
                (small, ({"a": "x"}, {"l": math.nan}), "trial 0 needs a finite 'l'"),
                (small, ({"a": "x"}, None), "a trial has metrics or a failure"),
                (small, ({"a": "x"}, mscgym.Evaluation({}, ("bad", ""))), "failure 'bad'"),
                (masked, (ruled_out, {"latency_ratio": 1}),
                 "known trial 0 has a choice that the env rules out")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                mscgym.Study(problem, known=[known],
                             minimize=["l" if problem is small else "latency_ratio"])

    def test_says_what_is_wrong(self):
        for wrong, text in (
                (lambda: mscgym.Study({"a": ["x", "y"]}), "made small"),
                (lambda: mscgym.Study({"a": []}, minimize=["l"]), "a"),
                (lambda: mscgym.Study({"a": ["x"]}, agent="no", minimize=["l"]), "known: .*tpe"),
                (lambda: mscgym.Study(toy("OneMax"), minimize=["speed"]), "metrics of this"),
                (lambda: mscgym.Study({"a": ["x"]}, minimize=["l", "l"]), "minimizes 'l' twice"),
                (lambda: mscgym.Study({"a": ["x"]}, minimize=["l"], subject_to={"l": math.inf}),
                 "limit of 'l' must be a finite number, not inf"),
                (lambda: mscgym.Study({"a": ["x"]}, minimize=["l"], subject_to={"l": math.nan}),
                 "limit of 'l' must be a finite number"),
                (lambda: mscgym.Study({"a": ["x"]}, minimize=["l"]).tell(0, {"l": 1}),
                 "was not asked for")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                wrong()
        study = mscgym.Study({"a": ["x"]}, agent="grid", minimize=["l"])
        with self.assertRaisesRegex(mscgym.UserError, "needs a finite 'l'"):
            study.tell(study.ask(), {"m": 1.0})


class Model(e2e.SearchTest):
    def test_runs_the_code_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
        # gymnasium_test.py runs the others.
        code = "\n".join(block for block in blocks if "import gymnasium" not in block)
        code = code.replace('"experiments/', f'"{ROOT}/experiments/')
        # A target that computes in 8 bits on this CPU.
        target = {"target": e2e.small_config()["target"]}
        code = code.replace("json.load(file)", f"{{**json.load(file), **{target}}}")
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True,
            check=False, env={**os.environ, "PYTHONPATH": sys.path[1], "MSCGYM": e2e.MSCGYM})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CANNOT be met", done.stdout)
        self.assertTrue(os.path.exists(self.at("strategy.json")))
        self.succeed("compile", os.path.join(ROOT, "experiments/models/fashion_resnet.onnx"),
                     "--strategy", self.at("strategy.json"), "--out", self.at("artefact"))

    def test_searches_like_the_program(self):
        config = e2e.small_config()
        config.update(agent="random", estimate_s=0)
        result = mscgym.search(config, out=self.at("python"), program=e2e.MSCGYM)
        self.succeed("search", self.write("config.json", json.dumps(config)),
                     "--out", self.at("program"))
        self.assertEqual(e2e.assignments(self.at("python")), e2e.assignments(self.at("program")))
        self.assertEqual(len(result.trials), config["trials"])
        self.assertEqual(set(result.trials[0].choices.values()), {"f32"})
        self.assertIn(result.best_trial, result.trials)
        self.assertIn("trials, 0 failed", result.summary)
        self.assertTrue(os.path.exists(os.path.join(result.best, "strategy.json")))
        self.assertTrue(os.path.exists(self.at("python", "report.html")))
        with self.assertRaisesRegex(mscgym.UserError, "already holds a search"):
            mscgym.search(config, out=self.at("python"), program=e2e.MSCGYM)

    def test_a_function_is_a_metric_of_a_search(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("this python3 has no NumPy")
        config = e2e.small_config()
        config.update(trials=4, agent="grid", estimate_s=0, finalists=1,
                      objective={"minimize": ["weight_bytes"], "subject_to": {"hits": 5}})
        calls = []

        def hits(outputs, samples):
            (scores,) = outputs.values()
            (images,) = samples.inputs.values()
            calls.append((samples.rows.start, samples.rows.stop, len(images)))
            return 100.0 * (scores.argmax(axis=1) == samples.labels)

        metric = mscgym.Metric(hits, better="higher", timeout_s=30)
        result = mscgym.search(config, out=self.at("run"), program=e2e.MSCGYM,
                               metrics={"hits": metric})
        self.assertTrue(result.feasible)
        self.assertEqual(result.suspicions, [])
        found = e2e.results(self.at("run"))
        quality = json.loads(found["finalists"][found["best"]]["result"])["outcome"]["quality"]
        # It is the accuracy, which the search knows, too.
        (hit,) = quality["metrics"]
        self.assertAlmostEqual(hit["value"], 100 * quality["accuracy"])
        self.assertAlmostEqual(hit["reference"], 100 * quality["reference_accuracy"])
        self.assertEqual({stop - start for start, stop, _ in calls},
                         {images for _, _, images in calls})
        # The program alone does not have the function.
        done = self.mscgym("search", os.path.join(self.at("run"), "config.json"), "--out",
                           self.at("other"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("metric 'hits' is a Python function: start or continue", done.stderr)

    def test_a_function_that_fails_is_a_failure_that_names_it(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("this python3 has no NumPy")
        config = e2e.small_config()
        config.update(trials=2, estimate_s=0, finalists=1)

        def searched(function, better="lower", timeout_s=30):
            metrics = {"m": mscgym.Metric(function, better, timeout_s)}
            with self.assertRaises(mscgym.UserError) as caught:
                mscgym.search(config, out=self.at("run"), program=e2e.MSCGYM, metrics=metrics)
            return str(caught.exception)

        def raises(outputs, samples):
            raise ValueError("no truth")

        cases = [
            (raises, "metric 'm': raised ValueError: no truth, of the uncompressed model"),
            (lambda outputs, samples: float("nan"), "returned a number that is not finite"),
            (lambda outputs, samples: [[1.0]], "returned an array [1, 1] instead of"),
            (lambda outputs, samples: [1.0, 2.0], "gave 2 values for 200 samples"),
            (lambda outputs, samples: "many", "raised ValueError"),
        ]
        for function, text in cases:
            self.assertIn(text, searched(function))
        hangs = lambda outputs, samples: time.sleep(20)  # noqa: E731
        self.assertIn("metric 'm': no answer within 500 ms", searched(hangs, timeout_s=0.5))
        self.assertIn("better' must be one of higher, lower", searched(raises, better="up"))
        with self.assertRaisesRegex(mscgym.UserError, "metrics is a dict of mscgym.Metric by name"):
            mscgym.search(config, out=self.at("run"), metrics={"m": raises})

    def test_a_search_of_what_no_env_decides(self):
        with self.assertRaisesRegex(mscgym.UserError, r"unknown env 'oracle'; known: quantize, "):
            mscgym.search({**e2e.small_config(), "env": "oracle"}, out=self.at("run"),
                          program=e2e.MSCGYM)
        self.assertFalse(os.path.exists(self.at("run")))

    def test_trains_by_recipes(self):
        config = e2e.small_config()
        config["distill"] = {"weight_bits": 3, "samples": 128, "batch": 32}
        config["quality"]["samples"] = 50
        with self.assertRaisesRegex(mscgym.UserError, "give 'strategy' or"):
            mscgym.make("Distill-v0", {**config, "distill": {}}, program=e2e.MSCGYM)
        try:
            env = mscgym.make("Distill-v0", config, program=e2e.MSCGYM)
        except mscgym.MachineError as error:
            self.assertIn("libtorch", str(error))
            self.skipTest(str(error))
        self.assertEqual(env.metrics, ["accuracy_drop", "disagreement", "distill_loss",
                                       "relative_error", "train_steps"])
        study = mscgym.Study(env, agent="random", subject_to={})
        self.assertEqual(study.minimize, ["distill_loss", "train_steps"])
        trial = study.ask()
        study.tell(trial, env.evaluate(trial.choices))
        self.assertEqual(trial.source, "anchor:short")
        self.assertEqual(study.best.evaluation.metrics["train_steps"], 4)
        self.assertGreater(study.best.evaluation.metrics["distill_loss"], 0)
        self.assertEqual(env.strategy(trial.choices)["epochs"], 1)

    def test_walks_every_env_of_a_model(self):
        config = e2e.small_config()
        config["latency"].update(max_ms=40, min_rounds=3, max_rounds=5, max_warmup_ms=20)
        config["quality"].update(samples=50, final_samples=50)
        config["estimate_s"] = 0
        config["compress"] = {"targets": ["native"]}
        config["partition"] = {"targets": ["onednn", "xnnpack"]}
        wide = {"Quantize-v0": 8, "Prune-v0": 7, "Compress-v0": 9, "Partition-v0": 6}
        for name, width in wide.items():
            with self.subTest(name):
                env = mscgym.make(name, config, program=e2e.MSCGYM)
                self.assertIn(f"{len(env.decisions)} decisions", env.describe(trial=False))
                observation, info = env.reset(seed=1)
                done = False
                known = []
                while not done:
                    self.assertIn(observation, env.observation_space)
                    self.assertEqual(len(observation["features"]), width)
                    known.append(tuple(observation["features"][-2:]))
                    first = list(info["action_mask"]).index(1)
                    observation, reward, done, truncated, info = env.step(first)
                    self.assertFalse(truncated)
                self.assertTrue(math.isfinite(reward), reward)
                # Nothing is estimated: of the loss nothing is known, of the time what regions cost or the share of the work.
                self.assertEqual({loss for loss, _ in known}, {0})
                self.assertEqual(max(time for _, time in known), 1)
                # First choices leave the model as it is.
                self.assertEqual(info["disagreement"], 0)
                self.assertGreater(info["latency_ms"], 0)
                env.close()

    def test_steps_several_envs_of_a_model_that_is_prepared_once(self):
        config = e2e.small_config()
        config["latency"].update(max_ms=40, min_rounds=3, max_rounds=5, max_warmup_ms=20)
        config["quality"].update(samples=50, final_samples=50)
        config["estimate_s"] = 0
        envs = mscgym.make_vec("Quantize-v0", 3, config, folder=self.at("run"), program=e2e.MSCGYM)
        self.assertEqual([env.config for env in envs.envs], [envs.envs[0].config] * 3)
        _, infos = envs.reset(seed=1)
        done = [False]
        while not any(done):
            # The first two do the same, and hear of the same measurement.
            firsts = [list(mask).index(1) for mask in infos["action_mask"]]
            lasts = [max(i for i, flag in enumerate(mask) if flag)
                     for mask in infos["action_mask"]]
            _, rewards, done, _, infos = envs.step([firsts[0], firsts[1], lasts[2]])
        self.assertEqual(list(done), [True] * 3)
        self.assertEqual(rewards[0], rewards[1])
        self.assertNotEqual(rewards[0], rewards[2])
        self.assertEqual(infos["latency_ms"][0], infos["latency_ms"][1])
        # What one measured, the others know.
        choices = {name: known[0] for name, known in envs.envs[2].decisions}
        self.assertEqual(envs.envs[2].evaluate(choices).metrics["latency_ms"],
                         infos["latency_ms"][0])
        envs.close()

    def test_shows_what_layers_do_alone(self):
        config = e2e.small_config()
        config["latency"].update(max_ms=40, min_rounds=3, max_rounds=5, max_warmup_ms=20)
        config["quantize"] = {"first_layers": 3}
        env = mscgym.make("Quantize-v0", config, folder=self.at("run"), program=e2e.MSCGYM)
        with open(self.at("run", "estimates.json"), encoding="utf-8") as file:
            estimates = json.load(file)
        self.assertEqual(estimates["tried"], 3)
        losses = [max(row) - min(row) for row in estimates["costs"]["distill_loss"]["effects"]]
        observation, _ = env.reset()
        shown = []
        for _ in env.decisions:
            shown.append(observation["features"][-2])
            observation = env.step(0)[0]
        for loss, feature in zip(losses, shown):
            self.assertAlmostEqual(feature, loss / max(losses))
        env.close()

    def test_describes_as_a_dry_run_does(self):
        config = e2e.small_config()
        config["latency"].update(max_ms=40, min_rounds=3, max_rounds=5, max_warmup_ms=20)
        config["estimate_s"] = 0
        config["objective"] = {"minimize": ["latency"],
                               "subject_to": {"latency": 1e-9, "accuracy_drop": 0.5}}
        config["stop"] = {"goal": {"latency": 1e-9, "weight_bytes": 1}}
        env = mscgym.make("Quantize-v0", config, program=e2e.MSCGYM)
        untimed = env.describe(trial=False)
        self.assertIn("ends at weight_bytes <= 1: CANNOT be met", untimed)
        self.assertIn("ends at latency <= 1e-09: no bound known", untimed)
        text = env.describe()
        self.assertEqual(wrappers.time_limit(env, 3).describe(), text)
        dry = self.succeed("search", self.write("config.json", config), "--dry-run").stdout

        def lines(text):
            return [re.sub(r"\d[\d.e+-]*", "#", line) for line in text.splitlines()]

        self.assertEqual(lines(text), lines(dry)[1:1 + len(lines(text))])
        if "ends at latency <= 1e-09: CANNOT be met" not in dry:
            self.assertIn("ends at latency <= 1e-09: no bound known", dry)  # of this machine
        ends = env.describe(goal={"latency": 7}, trial=False)
        self.assertIn("ends at latency <= 7:", ends)
        self.assertNotIn("ends at weight_bytes", ends)
        for wrong, text in (({"goal": {"speed": 1}}, "the goal to stop at names 'speed'; metrics"),
                            ({"subject_to": {"speed": 1}}, "the objective names 'speed'"),
                            ({"minimize": "speed"}, "the objective names 'speed'")):
            with self.assertRaisesRegex(mscgym.UserError, text):
                env.describe(**wrong, trial=False)
        env.close()

    def test_measures_a_whole_episode(self):
        config = e2e.small_config()
        config["latency"].update(max_ms=60, min_rounds=3, max_rounds=5, max_warmup_ms=20)
        config["objective"] = {"minimize": ["weight_bytes", "latency"],
                               "subject_to": {"weight_bytes": 1000.0}}
        env = mscgym.make("Quantize-v0", config, folder=self.at("run"), program=e2e.MSCGYM)
        self.assertEqual(env.config["env"], "Quantize-v0")
        text = env.describe()
        self.assertRegex(text, "(?s)weight_bytes.*1000")
        # One trial was made, and is remembered; that it took no time would mean that it was not.
        self.assertRegex(text, r"one trial, the baseline '[^']+': \d+\.\d s\n$")
        self.assertEqual(env.describe(), text)
        untimed = env.describe(subject_to={}, trial=False)
        self.assertNotIn("1000", untimed)
        self.assertNotIn("one trial", untimed)
        seen, info = play(env, 2)
        self.assertEqual(len(seen), 1 + len(env.decisions))
        self.assertLess(seen[-1][1], 0)
        if "failure" not in info:
            self.assertGreater(info["latency_ms"], 0)
            # What the config minimizes, in megabytes, and how far it is above limits.
            above = info["weight_bytes"] / 1000 - 1
            self.assertAlmostEqual(info["violation"], above)
            self.assertAlmostEqual(seen[-1][1], max(
                -9, -info["weight_bytes"] / 1e6 - info["latency"] - above))
        self.assertTrue(os.path.exists(self.at("run", "scales.json")))
        self.assertIn("f32", env.anchors)
        self.assertLessEqual(set(env.anchors), {"int8", "w7a8", "bf16", "f32"})
        env.close()
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.folder) as broken:
            broken.write("{")
            broken.flush()
            with self.assertRaisesRegex(mscgym.UserError, "the config"):
                mscgym.make("Quantize-v0", broken.name, program=e2e.MSCGYM)


if __name__ == "__main__":
    e2e.main()
