"""Links functions with and without bytes and sees whether scripts/check_unwind.py finds what a linker dropped."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check_unwind.py"

FUNCTION = """
  .type {name}, @function
{name}:
  .cfi_startproc
{body}
  .cfi_endproc
  .size {name}, .-{name}
"""


@unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
class CheckUnwind(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def link(self, linker, functions):
        """The path of a shared object with these functions, (name, body) in order."""
        source = self.folder / "functions.s"
        source.write_text(".text\n" + "".join(FUNCTION.format(name=name, body=body) for name, body in functions) +
                          '.section .note.GNU-stack,"",@progbits\n', encoding="utf-8")
        linked = self.folder / "functions.so"
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-fuse-ld={linker}", "-Wl,--eh-frame-hdr", source, "-o", linked],
                       check=True, timeout=60)
        return linked

    def check(self, path):
        done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_passes_functions_of_some_bytes(self):
        linked = self.link("bfd", [("first", "ret"), ("second", "ret")])
        self.assertEqual(self.check(linked), (0, "", ""))

    def test_passes_what_keeps_both_entries_of_an_address(self):
        linked = self.link("bfd", [("empty", ""), ("real", "ret")])
        self.assertEqual(self.check(linked), (0, "", ""))

    @unittest.skipUnless(shutil.which("ld.lld-14"), "LLD 14 is not installed")
    def test_finds_a_function_whose_entry_was_dropped_for_one_of_no_bytes(self):
        linked = self.link("lld", [("empty", ""), ("real", "ret")])
        self.assertEqual(self.check(linked), (
            1, f"{linked}: an exception through real ends the program: the linker dropped its unwind entry\n", ""))

    def test_refuses_what_is_no_program(self):
        text = self.folder / "text"
        text.write_text("not a program", encoding="utf-8")
        self.assertEqual(self.check(text),
                         (1, "", f"check_unwind: {text}: is not a 64-bit little-endian ELF file\n"))


if __name__ == "__main__":
    unittest.main()
