"""Models with loops, branches, sequences and sizes that only a run decides, and inputs of fixed values."""

import json

import e2e
import onnx_bytes
from onnx_bytes import field, node, value

F32, I64, BOOL = 1, 7, 9


def graph_attribute(name, graph):
    return field(1, name) + field(6, graph) + field(20, 5)


def scalar(name, dtype, number):
    """An initializer with one element."""
    values = field(7, number) if dtype == I64 else field(5, number)
    return field(5, field(2, dtype) + values + field(8, name))


def select():
    """The positive elements of |x| + x."""
    return (node("Abs", ["x"], "a") + node("Add", ["a", "x"], "s") + node("Greater", ["s", "zero"], "c") +
            node("Compress", ["s", "c"], "y") + field(2, "select") + field(5, field(1, 1) + field(2, F32) + field(8, "zero") +
                                                                         field(9, b"\0\0\0\0")) +
            field(11, value("x", F32, [4])) + field(12, value("y", F32, ["n"])))


def loop():
    """x doubled n times, and every step of it."""
    body = (field(1, field(1, "go") + field(2, "on") + field(4, "Identity")) + node("Add", ["v", "v"], "w") +
            field(1, field(1, "w") + field(2, "step") + field(4, "Identity")) + field(2, "body") +
            field(11, value("i", I64, [])) + field(11, value("go", BOOL, [])) + field(11, value("v", F32, [2])) +
            field(12, value("on", BOOL, [])) + field(12, value("w", F32, [2])) + field(12, value("step", F32, [2])))
    run = field(1, field(1, "n") + field(1, "yes") + field(1, "x") + field(2, "y") + field(2, "all") + field(3, "loop") +
                field(4, "Loop") + field(5, graph_attribute("body", body)))
    return (run + field(2, "doubled") + scalar("yes", BOOL, 1) + field(11, value("x", F32, [2])) +
            field(11, value("n", I64, [])) + field(12, value("y", F32, [2])) + field(12, value("all", F32, ["k", 2])))


class OpenValues(e2e.ProgramTest):
    def model(self, graph):
        return self.write("model.onnx", onnx_bytes.model(graph))

    def npy(self, name, form, code, dims, values):
        return self.write(name + ".npy", e2e.npy(form, code, dims, values))

    def test_what_only_a_run_decides_is_interpreted_beside_compiled_nodes(self):
        model = self.model(select())
        x = self.npy("x", "<f4", "f", [4], [1, -2, 3, -4])
        done = self.mscgym(0, "run", model, "--target", "reference", "--input", x)
        self.assertIn("first at node 'Compress': 3 nodes are compiled, and the interpreter computes 1", done.stderr)
        self.assertIn("output 0: f32[2] = 2 6", done.stdout)

    def test_compiling_such_a_model_names_the_node(self):
        model = self.model(select())
        done = self.mscgym(2, "compile", model, "--out", self.at("artefact"))
        self.assertIn("node 'Compress' (Compress): the type of 'y' is not known before running", done.stderr)

    def test_a_fixed_value_decides_how_often_a_loop_runs(self):
        model = self.model(loop())
        x = self.npy("x", "<f4", "f", [2], [1, -1])
        n = self.npy("n", "<i8", "q", [], [3])
        open_ = self.mscgym(0, "run", model, "--target", "reference", "--input", x, "--input", n)
        self.assertIn("the interpreter computes 1", open_.stderr)
        fixed = self.mscgym(0, "run", model, "--target", "reference", "--shape", "n:=3", "--input", x)
        self.assertNotIn("interpreter", fixed.stderr)
        for done in open_, fixed:
            self.assertIn("output 0: f32[2] = 8 -8", done.stdout)
            self.assertIn("output 1: f32[3,2] = 2 -2 4 -4 8 -8", done.stdout)
        seen = json.loads(self.mscgym(0, "inspect", model, "--canonical", "--shape", "n:=3", "--json").stdout)
        self.assertEqual([one["name"] for one in seen["inputs"]], ["x"])

    def test_a_value_that_does_not_fit_is_refused(self):
        model = self.model(loop())
        for text, said in (("m:=3", "the model has no input 'm'"), ("n:=three", "write NAME:=16000"),
                           ("n:=1,2", "2 numbers are given")):
            done = self.mscgym(2, "run", model, "--shape", text)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    e2e.main()
