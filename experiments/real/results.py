"""Results of experiments/real: one JSON file for each (task, limit, contender, seed).

A file is written as a whole after its contender was measured, so an interrupted run loses only the running one, and the
next makes only what is missing. What does not depend on the limit has the limit "any"; what has no seed, seed 0.
"""
import dataclasses
import json
import pathlib

import tasks


@dataclasses.dataclass(frozen=True)
class Key:
    task: str
    limit: str
    contender: str
    seed: int = 0

    def __str__(self):
        return f"{self.task}, {self.limit}, {self.contender}" + (f", seed {self.seed}" if self.seed else "")

    def file(self, folder):
        seed = f"-{self.seed}" if self.seed else ""
        return pathlib.Path(folder) / self.task / self.limit / f"{self.contender}{seed}.json"


def plan(names, limits, seeds, contenders):
    """What there is to do, task by task; `contenders` are those of contenders.py."""
    keys = []
    for name in names:
        keys += [Key(name, "any", contender.name) for contender in contenders if contender.scope == "any"]
        for limit in limits:
            for contender in contenders:
                if contender.scope == "limit":
                    keys.append(Key(name, limit, contender.name))
                elif contender.scope == "seed":
                    keys += [Key(name, limit, contender.name, seed) for seed in seeds]
    return keys


def write(folder, key, result):
    file = key.file(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps({**dataclasses.asdict(key), **result}, indent=1) + "\n")
    scratch.replace(file)


def read(folder):
    """All results, by key."""
    found = {}
    for file in sorted(pathlib.Path(folder).glob("*/*/*.json")):
        result = json.loads(file.read_text())
        key = Key(*(result[field.name] for field in dataclasses.fields(Key)))
        if key.task in tasks.TASKS:
            found[key] = result
    return found


def missing(keys, folder, retry=False):
    """Those without a result; with `retry` also those that failed."""
    done = {key for key, result in read(folder).items() if "failed" not in result or not retry}
    return [key for key in keys if key not in done]
