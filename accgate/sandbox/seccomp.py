"""A seccomp filter of the system calls that a Python program needs.

It lists what is allowed, since the kernel gains calls (io_uring, pidfd, new mount calls) faster than a list of what is
forbidden. Landlock leaves open what this closes: sockets, processes, signals, modes, owners and times of files.
"""

import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

# System calls that a program needs, from asm/unistd_64.h and asm-generic/unistd.h:
# name, number on x86_64, number on aarch64 (- where it has none). From 424 on, all machines share the numbers.
_TABLE = """
read 0 63/write 1 64/readv 19 65/writev 20 66/pread64 17 67/pwrite64 18 68/preadv 295 69/pwritev 296 70/lseek 8 62
close 3 57/close_range 436 436/dup 32 23/dup2 33 -/dup3 292 24/pipe 22 -/pipe2 293 59/sendfile 40 71
copy_file_range 326 285/open 2 -/openat 257 56/stat 4 -/lstat 6 -/fstat 5 80/newfstatat 262 79/statx 332 291
access 21 -/faccessat 269 48/faccessat2 439 439/readlink 89 -/readlinkat 267 78/getcwd 79 17/chdir 80 49/fchdir 81 50
getdents 78 -/getdents64 217 61/statfs 137 43/fstatfs 138 44/mkdir 83 -/mkdirat 258 34/rmdir 84 -/unlink 87 -
unlinkat 263 35/rename 82 -/renameat 264 38/renameat2 316 276/symlink 88 -/symlinkat 266 36/link 86 -/linkat 265 37
ftruncate 77 46/fsync 74 82/fdatasync 75 83/flock 73 32/umask 95 166
mmap 9 222/munmap 11 215/mremap 25 216/mprotect 10 226/madvise 28 233/brk 12 214/membarrier 324 283
clone 56 220/exit 60 93/exit_group 231 94/wait4 61 260/waitid 247 95/getpid 39 172/getppid 110 173/gettid 186 178
getuid 102 174/geteuid 107 175/getgid 104 176/getegid 108 177/getresuid 118 148/getresgid 120 150/getgroups 115 158
getpgrp 111 -/getpgid 121 155/getsid 124 156/set_tid_address 218 96/set_robust_list 273 99/rseq 334 293/futex 202 98
futex_waitv 449 449/sched_yield 24 124/sched_getaffinity 204 123/getcpu 309 168/getrusage 98 165/times 100 153
uname 63 160/sysinfo 99 179/getrlimit 97 163/prlimit64 302 261/getrandom 318 278/restart_syscall 219 128
rt_sigaction 13 134/rt_sigprocmask 14 135/rt_sigreturn 15 139/rt_sigsuspend 130 133/rt_sigtimedwait 128 137
rt_sigpending 127 136/sigaltstack 131 132/pause 34 -/kill 62 129/tgkill 234 131
clock_gettime 228 113/clock_getres 229 114/clock_nanosleep 230 115/nanosleep 35 101/gettimeofday 96 169/time 201 -
setitimer 38 103/getitimer 36 102/alarm 37 -/poll 7 -/ppoll 271 73/select 23 -/pselect6 270 72/epoll_create 213 -
epoll_create1 291 20/epoll_ctl 233 21/epoll_wait 232 -/epoll_pwait 281 22/epoll_pwait2 441 441/eventfd2 290 19
socketpair 53 199/sendto 44 206/recvfrom 45 207/getsockname 51 204/getpeername 52 205/getsockopt 55 209/shutdown 48 210
ioctl 16 29/fcntl 72 25
seccomp 317 277/capset 126 91
landlock_create_ruleset 444 444/landlock_add_rule 445 445/landlock_restrict_self 446 446
"""
MACHINES = {"x86_64": 0, "aarch64": 1}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

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

    The masked argument is one of `values`, or with `deny` none of them.
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

    The process id must still be written at the `places`.
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
    """Yield what goes on where all tests hold, and else ends with EPERM."""
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


def numbers(machine: str) -> dict[str, int]:
    """Return the number of each system call of a machine by name.

    >>> numbers("x86_64")["openat"], numbers("aarch64")["openat"], "open" in numbers("aarch64")
    (257, 56, False)
    """
    column = MACHINES[machine]
    rows = (entry.split() for line in _TABLE.strip().splitlines() for entry in line.split("/"))
    return {name: int(columns[column]) for name, *columns in rows if columns[column] != "-"}


def machine() -> str:
    """Name this machine.

    Raises OSError for one whose numbers are not known.
    """
    name = os.uname().machine
    if name not in MACHINES or sys.maxsize < 1 << 32:
        raise OSError(f"system calls of {name} are not known")
    return name
