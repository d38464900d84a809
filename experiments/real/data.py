"""Draws the three parts of a task's samples: nothing of one part is in another.

    /usr/bin/python3 experiments/real/data.py FOLDER NAME

writes FOLDER/NAME/calibration, search and heldout (.npy, of networks with several inputs .npz), what is known of the
last two in .json and search_labels.npy, and in data.json the SHA-256 of each. Samples are those of
benchmarks/quantizers, more of them: what is held out comes of other photos, faces, test sets and speakers than all
others. Of files of this system, packages are either held out or not. Needs what that benchmark's samples.py needs, and
Debian's python3-scipy.
"""
import hashlib
import json
import pathlib
import sys
import wave

import numpy as np

sys.dont_write_bytecode = True
import tasks  # noqa: E402

SPLITS = tasks.SPLITS


def arrays_of(samples):
    return list(samples.values()) if isinstance(samples, dict) else [samples]


def digests(samples):
    """A hash of each sample, of all its inputs."""
    count = max(map(len, arrays_of(samples)))
    arrays = [array for array in arrays_of(samples) if len(array) == count]  # others serve all samples
    return [hashlib.sha256(b"".join(np.ascontiguousarray(array[i]).tobytes() for array in arrays)).hexdigest()
            for i in range(count)]


def check_disjoint(splits):
    """Raises ValueError if a sample is in two parts; `splits` has samples by the name of their part."""
    seen = {}
    for part, samples in splits.items():
        for digest in set(digests(samples)):
            if digest in seen:
                raise ValueError(f"a sample of '{part}' is also one of '{seen[digest]}'")
            seen[digest] = part


def rows(samples, begin, end):
    if isinstance(samples, dict):
        return known_rows(samples, begin, end)
    return samples[begin:end]


def known_rows(known, begin, end):
    return {key: values[begin:end] for key, values in (known or {}).items()}


def as_drawn(folder, name, counts):
    """By samples.py: its half for calibration gives calibration and search, the other one what is held out."""
    import samples

    seen, known = samples.DRAW[name](folder, np.random.default_rng([tasks.SEED, 0]), counts[0] + counts[1], 0)
    held, held_known = samples.DRAW[name](folder, np.random.default_rng([tasks.SEED, 1]), counts[2], 1)
    end = counts[0] + counts[1]
    return ({"calibration": rows(seen, 0, counts[0]), "search": rows(seen, counts[0], end), "heldout": held},
            {"search": known_rows(known, counts[0], end), "heldout": known_rows(held_known, 0, counts[2])})


def sentences(folder, _name, counts):
    """Speeches repeat themselves; a sentence serves once."""
    import samples

    texts = list(dict.fromkeys(samples.sentences_of(folder, 2 * sum(counts))))
    found, begin = {}, 0
    for part, count in zip(SPLITS, counts):
        found[part] = samples.encoded(folder, texts[begin:begin + count])
        begin += count
    return found, {}


# Files, as Magika reads them: https://github.com/google/magika (beg_size, end_size, block_size, padding_token)
ENDS, BLOCK, PADDING = 1024, 4096, 256
LEAST_BYTES, MOST_OF_KIND = 16, 150


def file_bytes(path):
    """[2048]: the beginning without leading blanks and the end without trailing ones, filled up."""
    with open(path, "rb") as file:
        first = file.read(BLOCK).lstrip()[:ENDS]
        file.seek(max(path.stat().st_size - BLOCK, 0))
        last = file.read(BLOCK).rstrip()[-ENDS:]
    row = np.full(2 * ENDS, PADDING, np.int32)
    row[:len(first)] = np.frombuffer(first, np.uint8)
    row[2 * ENDS - len(last):] = np.frombuffer(last, np.uint8)
    return row


def order(text):
    return hashlib.sha256(f"{tasks.SEED} {text}".encode()).hexdigest()


def debian_files():
    """(package, path) of regular files, in an order that only their names decide."""
    found = []
    for listed in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        found += [(listed.name, pathlib.Path(line)) for line in listed.read_text().splitlines()]
    return sorted(found, key=lambda entry: order(str(entry[1])))


def files(_folder, _name, counts):
    """At most MOST_OF_KIND files with the same ending in a half, so that not all are headers and pages of manuals."""
    wanted, halves, kinds, seen = (counts[0] + counts[1], counts[2]), ([], []), {}, set()
    for package, path in debian_files():
        half = int(order(package)[0], 16) % 2
        kind = half, path.suffix or path.parent.name
        if len(halves[half]) == wanted[half] or kinds.get(kind, 0) == MOST_OF_KIND or path.is_symlink():
            continue
        if not path.is_file() or path.stat().st_size < LEAST_BYTES:
            continue
        row = file_bytes(path)
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            kinds[kind] = kinds.get(kind, 0) + 1
            halves[half].append(row)
    if any(len(half) < count for half, count in zip(halves, wanted)):
        sys.exit(f"two halves of this system's packages have {len(halves[0])} and {len(halves[1])} files, not {wanted}")
    seen_half = np.stack(halves[0])
    return {"calibration": seen_half[:counts[0]], "search": seen_half[counts[0]:], "heldout": np.stack(halves[1])}, {}


# Voices, as Silero's network for sequences takes them: chunks of 512 samples at 16 kHz, each after the 64 before it

CHUNKS, CHUNK, CONTEXT, RATE = 96, 512, 64, 16000


def voices(folder, language):
    """Recordings of at least a quarter of a second, from 8 to 16 kHz."""
    import fetch
    from scipy import signal

    found = []
    for path in sorted(fetch.package(folder, f"voice {language}").rglob("*.wav")):
        with wave.open(str(path)) as file:
            if file.getframerate() != RATE // 2 or file.getnframes() < RATE // 8:
                continue
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
        found.append(signal.resample_poly(samples, 2, 1))
    return found


def clip(rng, recordings):
    """Three seconds, in which somebody speaks now and then, in noise: [CHUNKS, CONTEXT + CHUNK]."""
    length, at = CHUNKS * CHUNK, 0
    sound = rng.normal(0, 10 ** rng.uniform(-4, -2), length)
    while at < length:
        at += int(rng.uniform(0.1, 1.2) * RATE)
        recording = recordings[rng.integers(len(recordings))]
        begin = int(rng.integers(0, max(len(recording) - RATE, 1)))
        part = recording[begin:begin + int(rng.uniform(0.3, 1.5) * RATE)][:max(length - at, 0)]
        sound[at:at + len(part)] += part * 10 ** rng.uniform(-1, 0.2)
        at += len(part)
    sound = np.concatenate([np.zeros(CONTEXT), np.clip(sound, -1, 1)])
    return np.stack([sound[i * CHUNK:(i + 1) * CHUNK + CONTEXT] for i in range(CHUNKS)]).astype(np.float32)


def speech(folder, _name, counts):
    """Two languages with their speakers for calibration and search, two others held out."""
    parts, state = [], np.zeros((1, 1, 128), np.float32)
    for half, (languages, count) in enumerate(((("en", "fr"), counts[0] + counts[1]), (("es", "it"), counts[2]))):
        rng = np.random.default_rng([tasks.SEED, half])
        recordings = sum((voices(folder, language) for language in languages), [])
        parts.append(np.stack([clip(rng, recordings) for _ in range(count)]))

    def inputs(clips):
        return {"input": clips, "h": state, "c": state}
    return {"calibration": inputs(parts[0][:counts[0]]), "search": inputs(parts[0][counts[0]:]),
            "heldout": inputs(parts[1])}, {}


DRAW = {"encoder": sentences, "magika": files, "silero": speech}


def hash_of(samples):
    joined = hashlib.sha256()
    for array in arrays_of(samples):
        joined.update(f"{array.dtype} {array.shape}".encode())
        joined.update(np.ascontiguousarray(array).tobytes())
    return joined.hexdigest()


def main(folder, name):
    import samples as drawing

    drawn, known = DRAW.get(name, as_drawn)(folder, name, tasks.TASKS[name].counts)
    drawn = {part: np.ascontiguousarray(found, np.float32) if not isinstance(found, dict) and found.dtype.kind == "f"
             else found for part, found in drawn.items()}
    check_disjoint(drawn)
    target = folder / name
    for part, found in drawn.items():
        drawing.save(folder, name, part, found)
        (target / f"{part}.json").write_text(json.dumps(known.get(part, {})))
    if tasks.TASKS[name].labels:
        np.save(target / "search_labels.npy", np.asarray(known["search"]["classes"], np.int32))
    (target / "data.json").write_text(json.dumps({part: hash_of(found) for part, found in drawn.items()}))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in tasks.TASKS:
        sys.exit(__doc__)
    import fetch
    try:
        main(pathlib.Path(sys.argv[1]), sys.argv[2])
    except (fetch.Absent, FileNotFoundError, ValueError) as error:
        sys.exit(str(error))
