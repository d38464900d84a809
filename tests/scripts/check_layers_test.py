"""Plants violations in a small tree and sees whether scripts/check_layers.py finds them."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("compiler/base/a.h", "#pragma once\n#include <string>\n")
        self.write("compiler/base/CMakeLists.txt", "msc_library(NAME x HEADERS a.h)\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def plant(self, path, text):
        """Writes a source file that its CMakeLists.txt names."""
        self.write(path, text)
        folder, _, name = path.rpartition("/")
        self.write(f"{folder}/CMakeLists.txt", f"msc_library(NAME x SOURCES {name})\n")

    def check(self):
        done = subprocess.run([sys.executable, SCRIPT, self.root], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 1 if done.stdout else 0)
        return done.stdout.splitlines()

    def test_passes_a_tree_that_keeps_the_rules(self):
        self.plant("compiler/ir/b.cc", '#include "compiler/base/a.h"\n#include <nlohmann/json.hpp>\n')
        self.assertEqual(self.check(), [])

    def test_finds_an_include_of_an_upper_layer(self):
        self.plant("compiler/ir/b.cc", '#include "compiler/ops/op.h"\n')
        self.assertEqual(self.check(), ["compiler/ir/b.cc: compiler/ir may not include "
                                        "compiler/ops/op.h (allowed: compiler/base)"])

    def test_finds_a_target_that_knows_another(self):
        self.plant("compiler/targets/one/b.cc", '#include "compiler/targets/two/c.h"\n')
        self.assertEqual(len(self.check()), 1)

    def test_finds_an_agent_that_knows_an_env(self):
        self.plant("agents/grid/b.cc", '#include "envs/toy/toy.h"\n')
        self.assertEqual(len(self.check()), 1)

    def test_finds_a_heavy_include_in_an_installed_header(self):
        self.plant("compiler/ir/b.h", "#include <nlohmann/json.hpp>\n")
        self.assertEqual(self.check(),
                         ["compiler/ir/b.h: installed headers may not include nlohmann/json.hpp"])

    def test_passes_a_heavy_include_in_a_private_header(self):
        self.write("compiler/ir/b.h", "#include <nlohmann/json.hpp>\n")
        self.plant("compiler/ir/b.cc", '#include "compiler/ir/b.h"\n')
        self.assertEqual(self.check(), [])

    def test_finds_mpi_outside_its_transport(self):
        self.plant("cost/farm/b.cc", "#include <mpi.h>\n")
        self.assertEqual(self.check(), ["cost/farm/b.cc: mpi.h belongs in cost/farm/transport/mpi"])
        self.plant("cost/farm/b.cc", "")
        self.plant("cost/farm/transport/mpi/b.cc", "#include <mpi.h>\n")
        self.assertEqual(self.check(), [])

    def test_finds_an_include_of_a_private_header(self):
        self.plant("compiler/ir/detail/c.h", "#pragma once\n")
        self.plant("compiler/ir/b.cc", '#include "compiler/ir/detail/c.h"\n')
        self.assertEqual(self.check(), [])
        self.plant("compiler/ops/b.cc", '#include "compiler/ir/detail/c.h"\n')
        self.assertEqual(self.check(), ["compiler/ops/b.cc: compiler/ir/detail/c.h is private to "
                                        "compiler/ir"])

    def test_finds_a_source_that_includes_its_header_late(self):
        self.plant("compiler/base/a.cc", '#include <string>\n#include "compiler/base/a.h"\n')
        self.assertIn('compiler/base/a.cc: includes "compiler/base/a.h" first', self.check())

    def test_finds_a_file_that_is_not_built(self):
        self.write("compiler/base/b.cc", "")
        self.assertEqual(self.check(), ["compiler/base/b.cc: no CMakeLists.txt names it"])

    def test_finds_a_header_that_nothing_names_or_includes(self):
        self.write("compiler/base/b.h", "#pragma once\n")
        self.assertEqual(self.check(), ["compiler/base/b.h: no CMakeLists.txt names it"])
        self.write("compiler/base/a.h", '#include "compiler/base/b.h"\n')
        self.assertEqual(self.check(), [])

    def test_finds_a_file_named_only_in_a_comment(self):
        self.write("compiler/base/b.cc", "")
        self.write("compiler/base/CMakeLists.txt", "msc_library(NAME x HEADERS a.h)  # b.cc\n")
        self.assertEqual(self.check(), ["compiler/base/b.cc: no CMakeLists.txt names it"])

    def test_finds_a_folder_without_an_entry(self):
        self.plant("gym/other/b.cc", "")
        self.assertEqual(self.check(), ["gym/other/b.cc: its folder has no entry in the table of "
                                        "scripts/check_layers.py"])

    def test_passes_this_repository(self):
        self.root = SCRIPT.parents[1]
        self.assertEqual(self.check(), [])


if __name__ == "__main__":
    unittest.main()
