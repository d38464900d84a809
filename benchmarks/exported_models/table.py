"""Tables of the results of `run`, in Markdown."""

import math
import textwrap


def best(answer):
    """(row of the fastest target of ours, row of ONNX Runtime); None for what is absent."""
    rows = [row for row in answer.get("rows", []) if "absent" not in row]
    peers = [row for row in rows if row["target"] == "(onnxruntime)"]
    ours = [row for row in rows if row["target"] != "(onnxruntime)"]
    return min(ours, key=lambda row: row["median_ms"], default=None), peers[0] if peers else None


def ratio(answer):
    """ONNX Runtime's time and ours. A row's ratio is to the first row of the process, so two rows have a quotient."""
    if "failed" in answer:
        return answer["failed"]
    ours, peer = best(answer)
    if ours is None or peer is None:
        absent = [f"{row['target']}: {row['absent']}" for row in answer.get("rows", []) if "absent" in row]
        return "; ".join(absent) or "not timed"
    return f"{peer['ratio'] / ours['ratio']:.2f} times as fast ({peer['median_ms']:.2f} ms, ours {ours['median_ms']:.2f} by {ours['target']})"


def outcome(found):
    if found is None:
        return "-"
    if "refused" in found:
        return "refused, as it should be"
    if "failed" in found:
        return "**no**"
    return f"{found['apart']:.0e}"


def exporter(made):
    return f"{made['exporter']}, set {made['sets'].get('ai.onnx', made['opset'])}"


def summary(timed):
    """How the times compare in all."""
    ratios = {}
    for name, answer in timed.items():
        ours, peer = best(answer)
        if ours is not None and peer is not None:
            ratios[name] = peer["ratio"] / ours["ratio"]
    if not ratios:
        return []
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return ["", f"Timed: {len(ratios)} models, {mean:.2f} times as fast in the geometric mean. Slower than ONNX Runtime: "
            + (", ".join(f"`{name}` ({ratios[name]:.2f})" for name in slower) or "none") + "."]


def render(results, models):
    lines = ["| model | exporter, set | nodes | apart from ONNX Runtime | exported again |", "|---|---|---|---|---|"]
    versions, wrong, unmade = {}, [], []
    for name, steps in results.items():
        made = steps.get("make", {"failed": "not made"})
        if "failed" in made:
            unmade.append(f"- `{name}`: {textwrap.shorten(made['failed'], 160, placeholder=' ...')}")
            continue
        versions.update(made["versions"])
        check, trip = steps.get("check"), steps.get("trip")
        lines.append(f"| `{name}`: {models[name].title} | {exporter(made)} | {made['nodes']} | {outcome(check)} | {outcome(trip)} |")
        wrong += [f"- `{name}`, {step}: {found['failed']}" for step, found in (("run", check), ("export", trip))
                  if found and "failed" in found]
    lines += ["", "By " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."]
    if wrong:
        lines += ["", "Refused or wrong:", "", *wrong]
    if unmade:
        lines += ["", "Not exported:", "", *unmade]
    return "\n".join(lines + times(results, models))


def times(results, models):
    timed = {name: steps["time"] for name, steps in results.items() if "time" in steps}
    if not timed:
        return []
    lines = [*summary(timed), "", "| model | ONNX Runtime, ms | ours, ms | by | times as fast |", "|---|---|---|---|---|"]
    for name, answer in timed.items():
        ours, peer = best(answer)
        if ours is None or peer is None:
            lines.append(f"| `{name}` | | | | {ratio(answer)} |")
            continue
        noisy = " (noisy)" if ours["noisy"] or peer["noisy"] else ""
        lines.append(f"| `{name}` | {peer['median_ms']:.2f} | {ours['median_ms']:.2f} | {ours['target']} | "
                     f"{peer['ratio'] / ours['ratio']:.2f}{noisy} |")
    return lines
