"""Keeps out what libraries load for nothing, and fits the process into a bounded address space (``ulimit -v``)."""

from __future__ import annotations

import os
import sys

_LEAN = {
    "OPENBLAS_NUM_THREADS": "1",  # else 32 MiB and a stack for each processor
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # its own pool reserves 1 GiB at a time
    "ARROW_IO_THREADS": "1",
}
_UNUSED = frozenset({"pandas", "pyarrow._s3fs", "pyarrow._gcsfs", "pyarrow._azurefs"})
"""What pyarrow loads where it is there (75 MiB, and a second for the first scalar); no verb has use for it."""
_ARENAS, _STACK_BYTES = -8, 2 << 20
"""M_ARENA_MAX of malloc.h; what a thread gets in place of 8 MiB."""


class _Unused:
    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name in _UNUSED:
            raise ModuleNotFoundError(f"{name} is not loaded: no verb has use for it", name=name)


def fit_into_bounds() -> None:
    """Keep out what is not used, and ask libraries for little where the address space is bounded; before numpy and
    pyarrow are imported."""
    sys.meta_path.insert(0, _Unused)
    if not is_bounded():
        return
    for name, value in _LEAN.items():
        os.environ.setdefault(name, value)
    _bound_the_allocator()


def is_bounded() -> bool:
    """Whether ``ulimit -v`` or its like bounds the addresses of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _bound_the_allocator() -> None:
    """One heap for all threads, not 64 MiB for each, and small stacks; where the C library is glibc."""
    import ctypes

    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt") or not hasattr(libc, "pthread_setattr_default_np"):
        return
    libc.mallopt(_ARENAS, 1)
    attributes = ctypes.create_string_buffer(256)
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
    libc.pthread_setattr_default_np(attributes)
