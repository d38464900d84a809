"""Search how to compress a trained network for this machine, from Python.

    result = mscgym.search(config, out="run")   a whole search, as `mscgym search` does it

    env = mscgym.make("Quantize-v0", config)    a problem; envs() lists the ids
    observation, info = env.reset(seed=1)       Gymnasium's interface: one decision per step
    observation, reward, terminated, truncated, info = env.step(action)
    envs = mscgym.make_vec("Quantize-v0", 4, config)    several as one

    study = mscgym.Study(env, agent="tpe")      ask-and-tell interface; agents() lists the agents
    trial = study.ask()
    study.tell(trial, env.evaluate(trial.choices))

If Gymnasium is installed, envs and spaces are instances of its classes, and gymnasium.make knows
the envs as "mscgym/Quantize-v0" and so on. Invalid input raises UserError, which says what to
change. See docs/python.md.
"""

from ._memory import lack as _lack

_lacking = _lack()
if _lacking:
    raise ImportError(_lacking, name=__name__)
try:
    from . import _core
except ImportError as error:
    from ._missing import explain as _explain
    raise ImportError(_explain(error), name=__name__) from None
from . import wrappers
from ._core import InternalError, MachineError, UserError
from ._core import version as __version__
from ._gym import gymnasium as _gymnasium
from ._metrics import Metric
from .env import Decision, Env, Evaluation, agents, envs, make, register
from .search import SearchResult, search
from .study import Study, Trial
from .vector import VectorEnv, make_vec

UserError.__doc__ = "What was given is wrong; the text says what to change."
MachineError.__doc__ = "The machine refused: disk, permission, a library that is not there."
InternalError.__doc__ = "This code is wrong."
for _error in (UserError, MachineError, InternalError):
    _error.__module__ = __name__

__all__ = ["Decision", "Env", "Evaluation", "InternalError", "MachineError", "Metric",
           "SearchResult", "Study", "Trial", "UserError", "VectorEnv", "__version__", "agents", "envs", "make",
           "make_vec", "register", "search", "wrappers"]

if _gymnasium:
    register()
