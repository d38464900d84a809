#!/usr/bin/env python3
"""Writes what the tree knows of ONNX's operator sets after 17, from the schemas of the onnx package.

    $(scripts/peers python peers) scripts/operator_sets.py           writes the files
    $(scripts/peers python peers) scripts/operator_sets.py --check   fails if a file is another one

compiler/import/onnx/operator_changes.inc: in which sets each operator changed. The importer reads operators as set 17 and
the lifts for later sets define them (compiler/ops/onnx_sets.h), and has to know of each newer model whether one of its
operators has changed.

compiler/codegen/onnx/newer_forms.inc: the signatures of these operators, and the IR version of each set. The exporter
checks what it writes by libonnx's schemas, which end at set 17 in Debian's.
"""
import pathlib
import sys

import onnx
from onnx import defs, helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHANGES = ROOT / "compiler/import/onnx/operator_changes.inc"
FORMS = ROOT / "compiler/codegen/onnx/newer_forms.inc"
BASE = 17  # the set that graphs have

# Element types of graphs, by ONNX's name; a form lists no other.
TYPES = {"tensor(float)": "f32", "tensor(uint8)": "u8", "tensor(int8)": "i8", "tensor(uint16)": "u16", "tensor(int16)": "i16",
         "tensor(int32)": "i32", "tensor(int64)": "i64", "tensor(string)": "str", "tensor(bool)": "bool",
         "tensor(float16)": "f16", "tensor(double)": "f64", "tensor(uint32)": "u32", "tensor(uint64)": "u64",
         "tensor(complex64)": "c64", "tensor(complex128)": "c128", "tensor(bfloat16)": "bf16"}
MARKS = {defs.OpSchema.FormalParameterOption.Single: "", defs.OpSchema.FormalParameterOption.Optional: "?",
         defs.OpSchema.FormalParameterOption.Variadic: "*"}


def changes():
    found = sorted({(schema.name, schema.since_version) for schema in defs.get_all_schemas_with_history()
                    if schema.domain == "" and schema.since_version > BASE})
    lines = [f"// Written by scripts/operator_sets.py from onnx {onnx.__version__}: operators of ai.onnx, and the sets after {BASE}",
             "// that added or changed them.",
             f"constexpr std::int64_t kListedOpset = {defs.onnx_opset_version()};",
             f"constexpr std::array<OperatorChange, {len(found)}> kChanges = {{{{"]
    lines += [f'    {{"{name}", {since}}},' for name, since in found]
    return "\n".join([*lines, "}};", ""])


def types_of(names):
    return " ".join(sorted(TYPES[name] for name in names if name in TYPES))


def parameters(formal):
    """NAME[?*]:TYPE of each, where `*` is of any number, `**` with any types, and TYPE a parameter or an element type."""
    words = []
    for one in formal:
        mark = MARKS[one.option]
        if mark == "*" and not one.is_homogeneous:
            mark = "**"
        words.append(f"{one.name}{mark}:{TYPES.get(one.type_str, one.type_str)}")
    return " ".join(words)


def form_of(schema):
    """Least numbers of inputs and outputs; these, attributes (`!` where required), and the types of each type parameter."""
    attributes = " ".join(name + ("!" if schema.attributes[name].required else "") for name in sorted(schema.attributes))
    types = "; ".join(f"{one.type_param_str}: {types_of(one.allowed_type_strs)}" for one in schema.type_constraints)
    return schema.min_input, schema.min_output, parameters(schema.inputs), parameters(schema.outputs), attributes, types


def rows():
    """Name, set and form of each change of a form; what changed in another way, as the meaning or newer types, is left out."""
    history = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            history.setdefault(schema.name, {})[schema.since_version] = schema
    for name, schemas in sorted(history.items()):
        before = None
        for since in sorted(schemas):
            form = () if schemas[since].deprecated else form_of(schemas[since])
            if since > BASE and form != before and form:
                yield name, since, form
            before = form


def ir_versions():
    """The IR version of the first release of each set."""
    versions = {}
    for _, version, opset, *_ in helper.VERSION_TABLE:
        versions.setdefault(opset, version)
    return [versions[opset] for opset in range(BASE + 1, defs.onnx_opset_version() + 1)]


def forms():
    found = list(rows())
    versions = ir_versions()
    lines = [f"// Written by scripts/operator_sets.py from onnx {onnx.__version__}: signatures of operators of ai.onnx that the sets",
             f"// after {BASE} gave them, as far as they are of element types of graphs, and the IR versions from set {BASE + 1} on.",
             f"constexpr std::array<std::int64_t, {len(versions)}> kNewerIrVersions = {{{', '.join(map(str, versions))}}};",
             f"constexpr std::array<NewerForm, {len(found)}> kNewerForms = {{{{"]
    for name, since, form in found:
        inputs, outputs, *texts = form
        lines.append(f'    {{"{name}", {since}, {inputs}, {outputs},')
        lines += [f'     "{text}",' for text in texts[:-1]] + [f'     "{texts[-1]}"}},']
    return "\n".join([*lines, "}};", ""])


def main():
    wanted = {CHANGES: changes(), FORMS: forms()}
    if sys.argv[1:] == ["--check"]:
        wrong = [file.name for file, text in wanted.items() if not file.exists() or file.read_text() != text]
        sys.exit(f"{', '.join(wrong)}: not what {pathlib.Path(__file__).name} writes" if wrong else 0)
    if sys.argv[1:]:
        sys.exit(__doc__.strip())
    for file, text in wanted.items():
        file.write_text(text)


if __name__ == "__main__":
    main()
