"""A seccomp filter.

It lets the system calls pass that a Python program needs, and no other. A list of what is allowed, since the kernel
gains calls (io_uring, pidfd, new mount calls) faster than a list of what is forbidden. Landlock leaves open what this
closes: sockets, processes, signals, modes, owners and times of files.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from .syscalls import AUDIT_ARCH, numbers

Instruction: TypeAlias = tuple[int, int, int, int]  # code, jump if true, jump if false, k

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_EPERM, _ENOSYS = 1, 38
_X32 = 0x40000000
_FIRST_NEW = 424  # of Linux 5.1; what the C library tries first and does without
_OWN_PID = 0xFFFFFFFE  # stands for the program's own id until it is known; no kernel gives such an id


class _Test(NamedTuple):
    """A condition on the low 32 bits of an argument.

    Masked, it is one of `values`, or with `deny` none of them.
    """

    argument: int
    mask: int
    values: tuple[int, ...]
    deny: bool = False
    high: bool = False


_ANY = 0xFFFFFFFF
_TRUNCATE, _ACCESS_MODE = 0o1000, 3
_THREAD, _NEW_NAMESPACES = 0x10000, 0x7E020000
_SHARED, _ANONYMOUS = 0x01, 0x20
_STREAM, _TYPE = 1, 0xF
# Not F_SETOWN, F_SETSIG: a descriptor's owner is sent signals. Not F_NOTIFY, F_SETLEASE, F_SETPIPE_SZ.
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX

_CHECKED: dict[str, tuple[_Test, ...]] = {
    # Reading with O_TRUNC empties a file, which Landlock sees from ABI 3 on only.
    "open": (_Test(1, _TRUNCATE | _ACCESS_MODE, (_TRUNCATE,), deny=True),),
    "openat": (_Test(2, _TRUNCATE | _ACCESS_MODE, (_TRUNCATE,), deny=True),),
    # A shared mapping of a file writes past the limit on its size, unseen.
    "mmap": (_Test(3, _SHARED | _ANONYMOUS, (_SHARED,), deny=True),),
    "clone": (_Test(0, _THREAD, (_THREAD,)), _Test(0, _NEW_NAMESPACES, (0,))),
    "kill": (_Test(0, _ANY, (_OWN_PID,)),),
    "tgkill": (_Test(0, _ANY, (_OWN_PID,)),),
    "prlimit64": (_Test(0, _ANY, (0,)),),
    "ioctl": (_Test(1, _ANY, _IOCTL),),
    "fcntl": (_Test(1, _ANY, _FCNTL),),
    # asyncio wakes itself through such a pair. Datagrams, or an address, could reach sockets of others.
    "socketpair": (_Test(0, _ANY, (1,)), _Test(1, _TYPE, (_STREAM,))),
    "sendto": (_Test(4, _ANY, (0,)), _Test(4, _ANY, (0,), high=True)),
}
# What confines the program is called before the filter is there.
_ONLY_BEFORE = {"seccomp", "capset", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}


class Filter(NamedTuple):
    """A filter as the kernel takes it.

    The process id is missing, which stands at these places.
    """

    code: bytes
    places: tuple[int, ...]

    def of(self, pid: int) -> bytes:
        """Return the filter for this process."""
        code = bytearray(self.code)
        for place in self.places:
            struct.pack_into("=I", code, place, pid)
        return bytes(code)


def filter_for(machine: str) -> Filter:
    """Write the filter in classic BPF.

    >>> len(filter_for("x86_64").code) // 8 < 4096  # the kernel's limit
    True
    """
    instructions = list(_instructions(machine))
    code = b"".join(struct.pack("=HBBI", *each) for each in instructions)
    return Filter(code, tuple(8 * index + 4 for index, each in enumerate(instructions) if each[3] == _OWN_PID))


def _instructions(machine: str) -> list[Instruction]:
    table = numbers(machine)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    for name, number in table.items():
        if name not in _ONLY_BEFORE:
            block = [*_conditions(_CHECKED.get(name, ())), (_RETURN, 0, 0, _ALLOW)]
            code += [(_JUMP_EQUAL, 0, len(block), number), *block]
    return [
        *code,
        (_JUMP_AT_LEAST, 0, 1, _FIRST_NEW),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
    ]


def _conditions(tests: Sequence[_Test]) -> Iterator[Instruction]:
    """Falls through where all hold, else ends with EPERM."""
    for test in tests:
        yield _LOAD, 0, 0, _ARGUMENTS + 8 * test.argument + (4 if test.high else 0)
        yield _AND, 0, 0, test.mask
        if test.deny:
            for value in test.values:
                yield _JUMP_EQUAL, 0, 1, value
                yield _RETURN, 0, 0, _ERRNO | _EPERM
            continue
        for left, value in zip(range(len(test.values), 0, -1), test.values, strict=True):
            yield _JUMP_EQUAL, left, 0, value
        yield _RETURN, 0, 0, _ERRNO | _EPERM
