"""What Gymnasium asks of an env, in words of our own, and stricter: what it warns of fails here.

Source: Gymnasium 1.x documentation, "Utility functions", `check_env`.
"""

import copy
import inspect

import numpy

from gymnasium import Env, spaces


def same(a, b):
    """Equal values of equal types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, numpy.ndarray):
        return a.dtype == b.dtype and numpy.array_equal(a, b)
    return a == b


def check_observation(env, observation):
    assert observation in env.observation_space, observation
    for name, space in env.observation_space.items():
        if isinstance(space, spaces.Discrete):
            assert isinstance(observation[name], (int, numpy.int64)), name
        else:
            assert isinstance(observation[name], numpy.ndarray), name
            assert observation[name].dtype == space.dtype, name


def check_reset(env):
    """It is seeded as a whole: observations, and the random numbers of the env inside."""
    parameters = inspect.signature(env.reset).parameters
    assert parameters["seed"].default is None and "options" in parameters
    runs = []
    for seed in (123, 123, 456):
        made = env.reset(seed=seed)
        assert isinstance(made, tuple) and isinstance(made[1], dict), made
        check_observation(env, made[0])
        assert env.unwrapped._np_random is not None, "the env inside was not seeded"
        runs.append((made[0], copy.deepcopy(env.unwrapped._np_random.bit_generator.state),
                     env.reset()[0]))
    assert runs[0][1] == runs[1][1] != runs[2][1]
    if not env.spec.nondeterministic:
        assert same(runs[0][0], runs[1][0]) and same(runs[0][2], runs[1][2])
    env.reset(options={})


def check_step(env):
    """An action that is drawn without a mask, before the reset, is taken after it."""
    env.action_space.seed(123)
    action = env.action_space.sample()
    steps = []
    for _ in range(2):
        env.reset(seed=123)
        observation, reward, terminated, truncated, info = env.step(action)
        check_observation(env, observation)
        assert isinstance(reward, float) and numpy.isfinite(reward), reward
        assert isinstance(terminated, bool) and truncated is False
        assert isinstance(info, dict)
        steps.append((observation, reward, terminated, info))
    if not env.spec.nondeterministic:
        assert all(same(*parts) for parts in zip(*steps))


def check_render(env):
    fps = env.metadata["render_fps"]
    assert isinstance(fps, (int, float)) and fps > 0, fps
    for mode in env.metadata["render_modes"]:
        made = env.spec.make(render_mode=mode)
        made.reset()
        assert made.render_mode == mode == "ansi", mode
        assert isinstance(made.render(), str)
        made.close()


def check_env(env, skip_render_check=False):
    assert isinstance(env, Env)
    assert not callable(getattr(env, "seed", None))
    check_reset(env)
    check_step(env)
    if not skip_render_check:
        check_render(env)
    made = env.spec.make()
    made.close()
    made.close()  # once more is allowed
