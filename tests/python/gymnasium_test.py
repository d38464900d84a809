"""The Python module on Gymnasium's own classes: [--stand-in] PYTHON_FOLDER MSCGYM [unittest arguments].

With a python3 of the version that the module is for and that has Gymnasium: this one, that of the
environment `peers` (scripts/setup --peers), or one in PATH. With --stand-in, stand_in/gymnasium takes its
place: it has the signatures of Gymnasium 1.x and its rules about types, some of them stricter, and needs
NumPy alone. The tests run in a process of their own, so that no other test sees the stand-in.
"""

import collections
import inspect
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "tests", "e2e"))

import e2e  # noqa: E402

STAND_IN = os.path.join(HERE, "stand_in")
STARTED = "MSC_GYMNASIUM_TEST"


def start_again(stand_in):
    """The exit code of this script with Gymnasium or the stand-in; 77, skipped, where a python3 lacks it."""
    places = (os.environ.get("PATH", "") + os.pathsep + os.defpath).split(os.pathsep)
    pythons = [sys.executable, e2e.peers_python("peers"), *(os.path.join(place, "python3") for place in places)]
    # Of another version, it cannot load the module.
    fits = (f"import {'numpy' if stand_in else 'gymnasium'}, sys; "
            f"sys.exit(sys.version_info[:2] != {sys.version_info[:2]})")
    for python in filter(None, pythons):
        if (os.access(python, os.X_OK)
                and subprocess.run([python, "-c", fits], capture_output=True,
                                   check=False).returncode == 0):
            break
    else:
        print("skipped: there is no python3 with NumPy" if stand_in else
              "skipped: there is no python3 with Gymnasium; scripts/setup --peers makes one")
        return 77
    paths = [STAND_IN if stand_in else "", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, STARTED: "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run([python, *sys.argv], env=environment, check=False).returncode


if STARTED not in os.environ:
    sys.exit(start_again("--stand-in" in sys.argv[1:2]))
if sys.argv[1] == "--stand-in":
    del sys.argv[1]

FOLDER = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, FOLDER)

import gymnasium  # noqa: E402
import mscgym  # noqa: E402
import numpy  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402
from mscgym import _spaces  # noqa: E402
from mscgym import env as env_module  # noqa: E402


def small_config(**changes):
    config = e2e.small_config()
    config["calibration"]["samples"] = 32
    config["quality"].update(samples=50, final_samples=50)
    config["latency"].update(max_ms=40, min_rounds=3, max_rounds=5, max_warmup_ms=20)
    config["estimate_s"] = 0
    return {**config, **changes}


# What each env of a model needs besides, to be walked in seconds.
CHANGES = {
    "Compress-v0": {"compress": {"targets": ["native"]}},
    "Distill-v0": {"distill": {"weight_bits": 3, "samples": 32, "batch": 16}},
    "Partition-v0": {"partition": {"targets": ["onednn", "xnnpack"]}},
    "Prune-v0": {},
    "Quantize-v0": {},
    "Schedule-v0": {"target": "native", "schedule": {"choices": 2}},
}


class OnGymnasium(e2e.SearchTest):
    def check_observation(self, env, observation):
        """Types as Gymnasium has them: integers, and arrays of the space's form."""
        self.assertIsInstance(env.observation_space, spaces.Dict)
        self.assertIn(observation, env.observation_space)
        self.assertEqual(set(observation), set(env.observation_space.spaces))
        self.assertIsInstance(observation["decision"], int)
        for name, dtype in (("chosen", numpy.int64), ("features", numpy.float64)):
            if name not in observation:
                continue
            part, space = observation[name], env.observation_space[name]
            self.assertIsInstance(part, numpy.ndarray)
            self.assertEqual((part.dtype, space.dtype), (dtype, dtype))
            self.assertEqual(part.shape, space.shape)
        self.assertEqual(observation["chosen"].shape, (len(env.decisions),))

    def check_mask(self, env, info):
        """Says which mask there is; the space draws by it."""
        self.assertIsInstance(info, dict)
        mask = info.get("action_mask")
        if mask is not None:
            self.assertIsInstance(mask, numpy.ndarray)
            self.assertEqual(mask.dtype, numpy.int8)
            self.assertEqual(mask.shape, (env.action_space.n,))
            self.assertLessEqual(set(mask.tolist()), {0, 1})
            self.assertTrue(mask.any())
        return mask

    def walk(self, env, draw):
        """The reward and the info of an episode of the actions that `draw` gives for masks."""
        self.assertIsInstance(env, gymnasium.Env)
        self.assertIs(env.unwrapped, env)
        self.assertIsInstance(env.action_space, spaces.Discrete)
        made = env.reset(seed=1)
        self.assertIsInstance(made, tuple)
        observation, info = made
        numbers = env.np_random.random(3).tolist()
        for step in range(len(env.decisions)):
            self.check_observation(env, observation)
            self.assertEqual(observation["decision"], step)
            made = env.step(draw(self.check_mask(env, info)))
            self.assertIsInstance(made, tuple)
            observation, reward, terminated, truncated, info = made
            self.assertIs(type(reward), float)
            self.assertTrue(math.isfinite(reward), reward)
            self.assertIs(terminated, step + 1 == len(env.decisions))
            self.assertIs(truncated, False)
        self.check_observation(env, observation)
        self.assertTrue(observation["chosen"].all())
        env.reset(seed=1)
        self.assertEqual(env.np_random.random(3).tolist(), numbers)
        return reward, info

    def test_walks_every_env(self):
        self.assertTrue(issubclass(mscgym.Env, gymnasium.Env))
        for name in mscgym.envs():
            with self.subTest(name):
                if name.startswith("Toy/"):
                    env = mscgym.make(name)
                else:
                    try:
                        env = mscgym.make(name, small_config(**CHANGES.get(name, {})), program=e2e.MSCGYM)
                    except mscgym.MachineError as error:
                        self.assertEqual(name, "Distill-v0")
                        self.skipTest(str(error))
                # First choices: models stay as they are, recipes train for one epoch.
                _, info = self.walk(env, lambda mask: 0 if mask is None else mask.argmax())
                self.assertNotIn("failure", info)
                for metric in env.metrics:
                    self.assertIs(type(info[metric]), float)
                if "disagreement" in info and name != "Distill-v0":
                    self.assertEqual(info["disagreement"], 0)
                env.close()

    def test_draws_actions_from_the_space(self):
        for name in mscgym.envs():
            if not name.startswith("Toy/"):
                continue
            with self.subTest(name), mscgym.make(name) as env:
                rewards = []
                for _ in range(2):
                    env.action_space.seed(5)
                    # NumPy's integers, as learners have them.
                    rewards.append(self.walk(env, env.action_space.sample)[0])
                self.assertEqual(*rewards)
                env.reset()
                env.step(numpy.array(0))
                with self.assertRaisesRegex(mscgym.UserError, "Discrete"):
                    env.step(numpy.array([0, 0]))

    def test_wraps_envs_of_the_same_classes(self):
        env = mscgym.make("Toy/PrecisionKnapsack-v0")
        episodes = []
        for wrapped in (mscgym.wrappers.cache(env), mscgym.wrappers.record(env, episodes.append)):
            self.assertIsInstance(wrapped, gymnasium.Env)
            self.assertIs(wrapped.unwrapped, env)
            observation, info = wrapped.reset(seed=1)
            for _ in wrapped.decisions:
                self.check_observation(wrapped, observation)
                self.check_mask(wrapped, info)
                observation, _, _, _, info = wrapped.step(numpy.int64(1))
        self.assertEqual(mscgym.wrappers.replay(env, episodes[0]), episodes[0])

    def test_makes_every_space(self):
        """Also those that no env of ours has."""
        made = env_module._space({"kind": "Dict", "spaces": {
            "binary": {"kind": "MultiBinary", "n": 3},
            "box": {"kind": "Box", "low": [0.0] * 6, "high": [1.0] * 5 + [math.inf],
                    "shape": (2, 3)},
            "discrete": {"kind": "Discrete", "n": 3, "start": 2},
            "multi": {"kind": "MultiDiscrete", "nvec": [2, 5]},
            "text": {"kind": "Text", "max_length": 4}}})
        for name, kind in (("binary", "MultiBinary"), ("box", "Box"), ("discrete", "Discrete"),
                           ("multi", "MultiDiscrete"), ("text", "Text")):
            self.assertIs(type(made[name]), getattr(spaces, kind))
        value = env_module._value(made, {"binary": [1, 0, 1], "box": [0.5] * 6, "discrete": 4,
                                         "multi": [1, 4], "text": ""})
        self.assertIn(value, made)
        forms = {name: (part.shape, part.dtype) for name, part in value.items()
                 if isinstance(part, numpy.ndarray)}
        self.assertEqual(forms, {"binary": ((3,), numpy.int8), "box": ((2, 3), numpy.float64),
                                 "multi": ((2,), numpy.int64)})
        # As the core takes them again.
        self.assertEqual(env_module._plain(value), {
            "binary": [1, 0, 1], "box": [0.5] * 6, "discrete": 4, "multi": [1, 4], "text": ""})
        made.seed(1)
        for _ in range(20):
            self.assertIn(made.sample(), made)
        self.assertNotIn({**value, "box": [0.5] * 6}, made)
        self.assertNotIn({**value, "discrete": 1}, made)

    def test_takes_arguments_as_our_own_spaces_do(self):
        """Those for where Gymnasium is not installed: a call means the same with both."""
        for name in ("Box", "Dict", "Discrete", "MultiBinary", "MultiDiscrete", "Text"):
            with self.subTest(name):
                ours, theirs = (list(inspect.signature(getattr(module, name)).parameters.values())
                                for module in (_spaces, spaces))
                for place, argument in enumerate(ours):
                    named = [other for other in theirs if other.name == argument.name]
                    self.assertEqual(len(named), 1, argument)
                    if argument.kind is not inspect.Parameter.KEYWORD_ONLY:
                        self.assertEqual(theirs.index(named[0]), place, argument)
                        self.assertEqual(named[0].kind, argument.kind, argument)

    def test_orders_parts_as_our_own_spaces_do(self):
        """What draws and flattens parts goes by their order."""
        pairs = [("b", 3), ("a", 2)]
        for given, named in (({}, {}), (dict(pairs), {}), (dict(pairs), {"sort_keys": False}), (pairs, {}),
                             (collections.OrderedDict(pairs), {}), (None, {"d": 4, "c": 5}),
                             (dict(pairs), {"d": 4, "A": 5})):
            with self.subTest(given=given, named=named):
                names = []
                for module in (_spaces, spaces):
                    made = {name: size if name == "sort_keys" else module.Discrete(size)
                            for name, size in named.items()}
                    parts = given and type(given)(
                        (name, module.Discrete(size)) for name, size in dict(given).items())
                    names.append(list(module.Dict(parts, **made)))
                self.assertEqual(*names)
        for module in (_spaces, spaces):
            with self.assertRaises(ValueError):
                module.Dict({"a": module.Discrete(2)}, a=module.Discrete(2))

    def test_refuses_a_seed_below_0_in_our_words(self):
        with self.assertRaisesRegex(mscgym.UserError, "a seed is at least 0, not -1"):
            mscgym.make("Toy/OneMax-v0").reset(seed=-1)

    def test_passes_the_tests_that_need_no_model(self):
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "python_test.py"), FOLDER, e2e.MSCGYM, "Envs",
             "Studies", "Vectors", "Wrappers"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_passes_the_env_checker(self):
        for name in mscgym.envs():
            if name.startswith("Toy/"):
                env = gymnasium.make("mscgym/" + name.replace("/", "-"))
                self.assertFalse(env.spec.nondeterministic)
                for seed in range(10):  # whatever the checker draws
                    env.action_space.seed(seed)
                    env.reset()
                    done = False
                    while not done:
                        _, _, done, _, _ = env.step(env.action_space.sample())
                check_env(env.unwrapped)
        # A seed reaches the env inside of wrappers.
        check_env(mscgym.wrappers.cache(mscgym.make("Toy/OneMax-v0")))

    def test_passes_the_env_checker_with_a_model(self):
        env = gymnasium.make("mscgym/Quantize-v0", config=small_config(), program=e2e.MSCGYM)
        self.assertTrue(env.spec.nondeterministic)
        check_env(env.unwrapped)
        env.close()
        made = mscgym.make("Quantize-v0", small_config(trials=7), program=e2e.MSCGYM)
        self.assertTrue(made.spec.nondeterministic)
        again = made.spec.make()
        self.assertEqual(again.unwrapped.config, made.config)
        for one in (made, again):
            one.close()

    def test_is_one_of_several_in_a_vector(self):
        """Random rollouts over the ends of episodes, as Gymnasium's own vector makes them."""
        makers = [lambda: gymnasium.make("mscgym/Toy-MaskedKnapsack-v0")] * 3
        rollouts = []
        for _ in range(2):
            envs = SyncVectorEnv(makers)
            envs.action_space.seed(4)
            rows = [envs.reset(seed=2)[0]]
            length = len(envs.envs[0].unwrapped.decisions)
            for step in range(1, 2 * length + 2):
                observations, rewards, ended, _, infos = envs.step(envs.action_space.sample())
                self.assertIn(observations, envs.observation_space)
                # The step after an end starts the next episode.
                self.assertEqual(observations["decision"].tolist(), [step % (length + 1)] * 3)
                self.assertEqual(ended.tolist(), [step % (length + 1) == length] * 3)
                if not ended.all():
                    self.assertEqual(infos["action_mask"].shape, (3, envs.single_action_space.n))
                rows.append((observations, rewards))
            self.assertEqual(envs.call("get_wrapper_attr", "illegal"), ("nearest",) * 3)
            envs.close()
            rollouts.append(str(rows))
        self.assertEqual(*rollouts)

    def test_is_a_vector_of_its_own_that_does_as_gymnasiums(self):
        """What comes of the same actions is the same, name by name and type by type."""
        name, count = "mscgym/Toy-MaskedKnapsack-v0", 3
        ours = gymnasium.make_vec(name, num_envs=count)
        self.assertIsInstance(ours, mscgym.VectorEnv)
        self.assertIsInstance(ours, gymnasium.vector.VectorEnv)
        self.assertIs(ours.metadata["autoreset_mode"], gymnasium.vector.AutoresetMode.NEXT_STEP)
        self.assertEqual((ours.spec.id, ours.get_attr("illegal")), (name, ("nearest",) * count))
        theirs = SyncVectorEnv([lambda: gymnasium.make(name)] * count)
        theirs.action_space.seed(4)
        made = [envs.reset(seed=2) for envs in (ours, theirs)]
        for _ in range(2 * len(ours.envs[0].decisions) + 3):
            self.assertIn(made[0][0], ours.observation_space)
            self.check_same(*made)
            actions = theirs.action_space.sample()
            made = [envs.step(actions) for envs in (ours, theirs)]
        for envs in (ours, theirs):
            envs.close()

    def check_same(self, one, other):
        """Equal values of equal types."""
        self.assertIs(type(one), type(other))
        if isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys())
            for name in one:
                self.check_same(one[name], other[name])
        elif isinstance(one, tuple):
            self.assertEqual(len(one), len(other))
            for parts in zip(one, other):
                self.check_same(*parts)
        else:
            self.assertIsInstance(one, numpy.ndarray)
            self.assertEqual((one.dtype, one.tolist()), (other.dtype, other.tolist()))

    def test_runs_the_code_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
        blocks = [block for block in blocks if "import gymnasium" in block]
        self.assertTrue(blocks)
        for block in blocks:
            exec(block, {})

    def test_registers_once(self):
        known = dict(gymnasium.registry)
        mscgym.register()
        self.assertEqual(dict(gymnasium.registry), known)
        self.assertEqual({id for id in known if id.startswith("mscgym/")},
                         {"mscgym/" + id.replace("/", "-") for id in mscgym.envs()})


if __name__ == "__main__":
    e2e.main()
