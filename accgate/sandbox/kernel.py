"""System calls that Python has no function for, through ctypes."""

import ctypes
import os
import struct

from .seccomp import machine, numbers

PDEATHSIG, DUMPABLE, NO_NEW_PRIVS, CHILD_SUBREAPER = 1, 4, 38, 36
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_numbers = numbers(machine())


def call(name: str, *arguments: object) -> int:
    """Make a system call, and return its result.

    Raises OSError where it fails.
    """
    numbers = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc.syscall(ctypes.c_long(_numbers[name]), *numbers), name)


def prctl(option: int, value: int) -> None:
    """Set a property of the process."""
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl({option})")


def _check(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def drop_capabilities() -> None:
    """Give up every capability of the process, for good where no_new_privs holds."""
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    call("capset", ctypes.c_char_p(header), ctypes.c_char_p(nothing))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def filter_calls(filtered: bytes) -> None:
    """Put the process under a seccomp filter, for good.

    The process must have set no_new_privs.
    """
    program = _Program(len(filtered) // 8, filtered)
    call("seccomp", _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(program))
