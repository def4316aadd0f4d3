"""Landlock, by which a process gives up files (Linux 5.13 and later).

The process keeps those that its rules name, with all below them.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from .kernel import call

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_ALL_OF_ABI_1 = (1 << 13) - 1
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_VERSION, _PATH_BENEATH = 1, 1

READ = _READ_FILE | _READ_DIR
RUN = READ | _EXECUTE
MOVE = RUN | _REFER  # from folder to folder, which every rule set forbids where it does not allow it
LIST = _READ_DIR
WRITE = _WRITE_FILE | _READ_FILE
OWN = (
    READ | _WRITE_FILE | _TRUNCATE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER
)  # not to execute, nor to make devices, pipes or sockets


def abi() -> int:
    """Return the version of the kernel's Landlock.

    Raises OSError where there is none or it is switched off.
    """
    return call("landlock_create_ruleset", None, 0, _VERSION)


def ruleset(rules: Iterable[tuple[str, int]], *, isolated: bool = True, reads_alone: bool = False) -> int:
    """Return a descriptor of a rule set.

    The set forbids all that the kernel can forbid but these rights at these paths. Paths that do not exist are left
    out. One that is not `isolated` leaves network and signals open; `reads_alone` leaves open all but reading and
    executing.
    """
    version = abi()
    handled = RUN if reads_alone else _ALL_OF_ABI_1
    for since, right in ((2, _REFER), (3, 0 if reads_alone else _TRUNCATE), (5, 0 if reads_alone else _IOCTL_DEV)):
        handled |= right if version >= since else 0
    attributes = struct.pack("=Q", handled)
    if version >= 4 and isolated:
        attributes += struct.pack("=Q", _BIND_AND_CONNECT_TCP)
    if version >= 6 and isolated:
        attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    descriptor = call("landlock_create_ruleset", ctypes.c_char_p(attributes), len(attributes), 0)
    for path, rights in rules:
        _allow(descriptor, path, rights & handled)
    return descriptor


def _allow(descriptor: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _ON_FILES
        if rights:
            rule = struct.pack("=Qi", rights, opened)
            call("landlock_add_rule", descriptor, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(opened)


def restrict(descriptor: int) -> None:
    """Put the calling process under the rule set, for good.

    The process must have set no_new_privs.
    """
    call("landlock_restrict_self", descriptor, 0)
