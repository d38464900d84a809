"""Whether there is memory for OpenBLAS, which starts when the compiled module is loaded.

It maps a buffer for each of its threads then, and tries for ever where it is refused one (ulimit -v
or -d, strict overcommit). What gym/app/openblas_guard.cc does for the program this does for Python.
"""

import mmap
import os

_BUFFER_BYTES = (128 << 20) + (1 << 16)  # compiler/base/address_space.h
_ROOM_BYTES = 64 << 20  # to go on with
_MOST_THREADS = 128  # that OpenBLAS is built for


def lack():
    """What to say where there is too little; None where there is enough."""
    if _loaded():
        return None
    threads = _threads()
    mapped = []
    try:
        for size in [_BUFFER_BYTES] * (threads + 1) + [_ROOM_BYTES]:
            mapped.append(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except OSError:
        need = ((threads + 1) * _BUFFER_BYTES + _ROOM_BYTES) >> 20
        fewer = "" if threads == 1 else ", or set OPENBLAS_NUM_THREADS=1"
        return (f"mscgym needs {need} MB more than this process has mapped, for OpenBLAS on "
                f"{threads} thread{'s' * (threads > 1)}, and its memory is limited (ulimit -v or -d) to less: raise "
                f"the limit{fewer}")
    finally:
        for one in mapped:
            one.close()
    return None


def _loaded():
    """Whether somebody else in this process, such as numpy, has loaded it: then it has its buffers."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return "libopenblas.so" in maps.read()
    except OSError:
        return False


def _threads():
    """As many as OpenBLAS will make buffers for: its blas_get_cpu_number."""
    count = len(os.sched_getaffinity(0))
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        wanted = os.environ.get(name, "")
        if wanted.isdecimal() and int(wanted) > 0:
            count = min(count, int(wanted))
            break
    return min(count, _MOST_THREADS)
