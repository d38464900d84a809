"""Lists of tests that do not pass: a line has the test's name and, behind a space, why; `#` starts a comment."""


def read(path):
    """Reasons by name."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"{path}, line {number}: {name} has no reason")
        if name in found:
            raise ValueError(f"{path}, line {number}: {name} is listed twice")
        found[name] = reason.strip()
    return found
