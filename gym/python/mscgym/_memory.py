"""Checks that there is memory for OpenBLAS, which starts when the compiled module is loaded.

OpenBLAS maps a buffer for each of its threads and retries forever if the kernel refuses one
(ulimit -v or -d, strict overcommit). gym/app/openblas_guard.cc does the same check for the program.
"""

import mmap
import os

_BUFFER_BYTES = (128 << 20) + (1 << 16)  # compiler/base/address_space.h
_ROOM_BYTES = 64 << 20  # for the rest of the startup
_MOST_THREADS = 128  # that the build of OpenBLAS supports


def lack():
    """Return the error text if there is too little memory, otherwise None."""
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
    """Return whether another module, such as numpy, has loaded OpenBLAS and so its buffers."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return "libopenblas.so" in maps.read()
    except OSError:
        return False


def _threads():
    """Return the number of threads for which OpenBLAS allocates buffers (blas_get_cpu_number)."""
    count = len(os.sched_getaffinity(0))
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        wanted = os.environ.get(name, "")
        if wanted.isdecimal() and int(wanted) > 0:
            count = min(count, int(wanted))
            break
    return min(count, _MOST_THREADS)
