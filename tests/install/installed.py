"""What is installed below PREFIX works from Python: PREFIX VERSION WITH_MODULE, in a python3 that finds mscgym there."""

import os
import subprocess
import sys

PREFIX, VERSION, WITH_MODULE = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3] in ("ON", "1", "TRUE")
PROGRAM = os.path.join(PREFIX, "bin", "mscgym")
os.environ.pop("MSCGYM", None)


def check(condition, *facts):
    if not condition:
        sys.exit(f"not as installed: {facts}")


said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
check(VERSION in said, said)
try:
    import mscgym
    from mscgym import env as env_module
except ImportError as error:
    check(not WITH_MODULE and "has no compiled module, which needs" in str(error), error)
else:
    check(WITH_MODULE and os.path.realpath(mscgym.__file__).startswith(PREFIX), mscgym.__file__)
    check(mscgym.__version__ == VERSION, mscgym.__version__)
    check(os.path.realpath(env_module._find_program()) == PROGRAM, env_module._find_program())
    with mscgym.make("Toy/OneMax-v0") as env:
        check(env.reset(seed=1)[0] in env.observation_space)
