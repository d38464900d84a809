"""The programs of docs/examples do what the pages that show them say: MSCGYM FOLDER_OF_PROGRAMS."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import e2e  # noqa: E402

PROGRAMS = sys.argv.pop(2)


def shown(page):
    """The C++ blocks of a page."""
    with open(os.path.join(e2e.ROOT, "docs", page), encoding="utf-8") as file:
        return re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)


class Examples(e2e.SearchTest):
    def run_program(self, name, config, out):
        path = self.at(f"{out}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        done = subprocess.run(
            [os.path.join(PROGRAMS, f"docs_{name}"), path, self.at(out), e2e.MSCGYM],
            capture_output=True, text=True, check=False, timeout=e2e.DEADLINE_S)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return path, done

    def test_pages_show_the_programs(self):
        for page, name in (("cpp.md", "search"), ("add_an_env.md", "bf16_search")):
            path = os.path.join(e2e.ROOT, "docs", "examples", f"{name}.cc")
            with open(path, encoding="utf-8") as file:
                self.assertIn(file.read(), shown(page), page)

    def test_a_search_from_cpp_is_that_of_the_program(self):
        config = e2e.small_config()
        config.update(agent="random", estimate_s=0)
        path, done = self.run_program("search", config, "cpp")
        self.succeed("search", path, "--seed", "11", "--out", self.at("program"))
        self.assertEqual(e2e.assignments(self.at("cpp")), e2e.assignments(self.at("program")))
        self.assertIn("[trial ", done.stderr)
        self.assertTrue(os.path.exists(self.at("cpp", "report.html")))
        self.assertTrue(os.path.exists(self.at("cpp", "best", "strategy.json")))

    def test_a_search_with_an_env_of_its_own(self):
        _, done = self.run_program("bf16_search", e2e.small_config(), "bf16")
        self.assertNotEqual(done.stdout, "")
        with open(self.at("bf16", "config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["env"], "Bf16-v0")
        for assignment in e2e.assignments(self.at("bf16")).values():
            self.assertTrue(set(assignment) <= {0, 1})


if __name__ == "__main__":
    e2e.main()
