"""Reads what `mscgym search` leaves in a run directory for other tools (gym/search/run_files.h writes it)."""
import json
import pathlib

FORMATS = {"results.json": "msc-results-1", "pareto.json": "msc-pareto-1", "env.json": "msc-env-1"}


class UnknownFormat(SystemExit):
    """Ends a script with what is wrong; whoever has another use for the rest catches it."""


def read(run, name):
    """The document NAME of a run. Files of before they named a format are read as those of the first."""
    path = pathlib.Path(run, name)
    document = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(document, list):  # pareto.json, before it named its format
        document = {"trials": document}
    known = FORMATS[name]
    found = document.setdefault("format", known)
    if found != known:
        raise UnknownFormat(f"{path} is of the format {found!r}, known here is {known!r}: take the scripts of the mscgym that "
                            "wrote it; what `mscgym report` and `mscgym export-study` show they take from trials.journal alone")
    return document
