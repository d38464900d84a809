"""Tables of experiments/real, from its results.

The best baseline is the fastest that keeps the limit on held-out samples. A search counts with the median over its
seeds; a seed that misses the limit there, or finds nothing, counts as f32: that is what its user is left with.
"""
import math
import statistics

import contenders
import results
import tasks
import networks

# Geometric mean over tasks of the search's speed to that of the best baseline.
GOALS = {"strict": 1.05, "middle": 1.15, "loose": 1.25}
# To the better of ONNX Runtime's f32 and int8 that keep the limit: geometric mean, and for each task.
PEER_GOAL, PEER_LEAST = 2.5, 1.2
F32 = {"ratio": [1.0, 1.0, 1.0]}


def keeps(key, result, limit):
    return "value" in result and tasks.keeps(key.task, result["value"], limit)


def of_role(found, name, limit, role):
    """Results of a task for one limit by key, of contenders with a role."""
    return {key: result for key, result in found.items() if key.task == name and key.limit in ("any", limit)
            and key.contender in contenders.BY_NAME and contenders.BY_NAME[key.contender].role == role}


def best(found, name, limit, role):
    """The fastest that keeps the limit: key and result, or None."""
    kept = [(key, result) for key, result in of_role(found, name, limit, role).items() if keeps(key, result, limit)]
    return min(kept, key=lambda entry: entry[1]["ratio"][0], default=None)


def searched(found, name, limit):
    """The seed in the middle (the slower of two), and how many of how many keep the limit; None without any."""
    seeds = of_role(found, name, limit, "search")
    if not seeds:
        return None
    kept = [keeps(key, result, limit) for key, result in seeds.items()]
    counted = [result if keeps(key, result, limit) else F32 for key, result in seeds.items()]
    middle = statistics.median_high(sorted(result["ratio"][0] for result in counted))
    return next(result for result in counted if result["ratio"][0] == middle), sum(kept), len(kept)


def quotient(one, other):
    """How many times as fast `other` is as `one`, with its interval."""
    return contenders.product(one["ratio"], contenders.inverse(other["ratio"]))


def told(ratio):
    return f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]"


def value_told(name, value):
    unit = tasks.metric_of(name).unit
    return f"{value:.2f} {unit}" if unit else f"{value:.4f}"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def row(found, name, limit):
    """A line of the table, and the two speeds that goals are about (None where one is unknown)."""
    baseline, search, peer = best(found, name, limit, "baseline"), searched(found, name, limit), best(
        found, name, limit, "peer")
    cells = [networks.NETWORKS[name].title, value_told(name, tasks.limit_of(name, limit))]
    cells.append("-" if baseline is None else f"{contenders.BY_NAME[baseline[0].contender].title}, "
                                              f"{told(contenders.inverse(baseline[1]['ratio']))}")
    to_baseline = to_peer = None
    if search is None:
        return cells + ["not measured", "-", "-", "-"], None, None
    result, kept, of = search
    value = f", {value_told(name, result['value'])}" if "value" in result else " (f32)"
    cells += [f"{told(contenders.inverse(result['ratio']))}{value}", f"{kept} of {of}"]
    if baseline is not None:
        to_baseline = quotient(baseline[1], result)
    if peer is not None:
        to_peer = quotient(peer[1], result)
    cells.append(told(to_baseline) if to_baseline else "-")
    cells.append(f"{told(to_peer)} ({contenders.BY_NAME[peer[0].contender].title})" if to_peer else "-")
    return cells, to_baseline and to_baseline[0], to_peer and to_peer[0]


def is_measured(found, name, limit):
    """Whether every contender that the goals are about has a result, be it that it failed."""
    done = {key.contender for key in found if key.task == name and key.limit in ("any", limit)}
    return all(contender.name in done for contender in contenders.CONTENDERS if contender.role != "other")


def verdicts(found, limit, speeds):
    """What of the goals is reached and missed; `speeds` are (task, to the baseline, to ONNX Runtime)."""
    lines = []

    def line(what, value, goal, of):
        state = "reached" if value >= goal else "MISSED"
        lines.append(f"- {what}: {value:.2f}x over {of} task{'s' * (of != 1)}, goal {goal}x: **{state}**")

    baseline = [one for _, one, _ in speeds if one]
    peer = [(name, other) for name, _, other in speeds if other]
    if baseline:
        line("geometric mean to the best baseline", geometric_mean(baseline), GOALS[limit], len(baseline))
    if peer:
        line("geometric mean to the better of ONNX Runtime's", geometric_mean([other for _, other in peer]), PEER_GOAL,
             len(peer))
        below = [f"{networks.NETWORKS[name].title} {other:.2f}x" for name, other in peer if other < PEER_LEAST]
        lines.append(f"- no task below {PEER_LEAST}x of ONNX Runtime's: "
                     + (f"**MISSED** by {', '.join(below)}" if below else "**reached**"))
    lacking = [name for name in tasks.TASKS if not is_measured(found, name, limit)]
    if lacking:
        lines.append(f"- **preliminary**: not all contenders are measured of {', '.join(lacking)}")
    return lines


def table(head, rows):
    return ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]]


def all_results(found):
    """One line for each result."""
    rows = []
    for key in sorted(found, key=lambda key: (list(tasks.TASKS).index(key.task), key.limit, key.contender, key.seed)):
        result = found[key]
        what = contenders.BY_NAME[key.contender].title if key.contender in contenders.BY_NAME else key.contender
        words = [key.task, key.limit, what, str(key.seed or "")]
        if "failed" in result:
            rows.append([*words, "-", "-", result["failed"].replace("|", "\\|")])
            continue
        kept = [limit for limit in tasks.LIMITS if key.limit in ("any", limit) and keeps(key, result, limit)]
        rows.append([*words, value_told(key.task, result["value"]),
                     told(result["ratio"]) + (", noisy" if result.get("noisy") else ""), ", ".join(kept) or "none"])
    return table(["task", "limit", "contender", "seed", "metric, held out", "time / our f32 [95 %]", "keeps"], rows)


def warnings(found):
    """What makes results not comparable: they were measured with other data, programs or on another CPU."""
    lines = []
    for what in ("data", "cpu", "mscgym", "minutes"):
        for name in tasks.TASKS:
            seen = {result[what] for key, result in found.items() if key.task == name and result.get(what)}
            if len(seen) > 1:
                lines.append(f"- {name}: results differ in `{what}`: {', '.join(map(str, sorted(seen)))}")
    return lines


def render(found, limits=tasks.LIMITS):
    if not found:
        return "Nothing was measured yet.\n"
    lines = []
    for limit in limits:
        lines += [f"### Limit: {limit}", ""]
        rows, speeds = [], []
        for name in [name for name in tasks.TASKS if any(key.task == name for key in found)]:
            cells, one, other = row(found, name, limit)
            rows.append(cells)
            speeds.append((name, one, other))
        head = ["task", "limit", "best baseline, speed to f32", "search, speed to f32 (median of seeds)",
                "seeds that keep it", "search to best baseline", "search to the better of ONNX Runtime's"]
        lines += table(head, rows)
        lines += ["", *verdicts(found, limit, speeds), ""]
    lines += ["### All results", "", *all_results(found), ""]
    odd = warnings(found)
    return "\n".join(lines + (["### Not comparable", "", *odd, ""] if odd else []))
