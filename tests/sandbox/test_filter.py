"""The filter's decisions on both machines, worked out by an interpreter of classic BPF, and the numbers it uses."""

import struct
import sys

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("Linux alone has seccomp", allow_module_level=True)

import re
import subprocess
from pathlib import Path

from accgate.sandbox.seccomp import AUDIT_ARCH, MACHINES, filter_for, numbers

PID = 4321
ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
PARENT = 4000


def decision(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the kernel would do (seccomp(2): nr, arch, instruction pointer, six arguments)."""
    given = [each & 0xFFFFFFFFFFFFFFFF for each in (*arguments, *(0,) * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, AUDIT_ARCH[machine] if arch is None else arch, 0, *given)
    code = list(struct.iter_unpack("=HBBI", filter_for(machine).of(PID)))
    accumulator = place = 0
    while True:
        operation, yes, no, k = code[place]
        place += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif operation == 0x54:
            accumulator &= k
        elif operation == 0x15:
            place += yes if accumulator == k else no
        elif operation == 0x35:
            place += yes if accumulator >= k else no
        else:
            assert operation == 0x06
            return int(k)


both = pytest.mark.parametrize("machine", MACHINES)


NEEDED: list[tuple[str, tuple[int, ...]]] = [
    ("read", ()), ("openat", (-100, 0, 0o1101)), ("mmap", (0, 9, 3, 0x21)), ("mmap", (0, 9, 5, 0x2)),
    ("clone", (0x3D0F00,)), ("kill", (PID, 9)), ("tgkill", (PID, 7, 6)), ("prlimit64", (0, 7)), ("ioctl", (1, 0x5401)),
    ("fcntl", (1, 1030)), ("socketpair", (1, 0x80001)), ("sendto", (3, 99, 1, 0, 0)),
]  # fmt: skip
OUTWARD: list[tuple[str, tuple[int, ...]]] = [
    ("openat", (-100, 0, 0o1000)), ("openat", (-100, 0, 0o2001000)), ("mmap", (0, 9, 3, 0x1)),
    ("mmap", (0, 9, 1, 0x3)), ("clone", (17,)), ("clone", (0x00010000 | 0x10000000,)),
    ("clone", (0x00010000 | 0x20000,)), ("kill", (PARENT, 9)), ("kill", (-1, 9)), ("kill", (0, 9)), ("kill", (-PID, 9)),
    ("tgkill", (PARENT, PARENT, 9)), ("prlimit64", (PARENT, 7)), ("ioctl", (0, 0x5412)), ("fcntl", (1, 8)),
    ("fcntl", (1, 10)), ("fcntl", (1, 15)), ("fcntl", (1, 1026)), ("socketpair", (1, 2)), ("socketpair", (2, 1)),
    ("socketpair", (1, 5)), ("sendto", (3, 99, 1, 0, 0xFF)), ("sendto", (3, 99, 1, 0, 1 << 32)), ("seccomp", ()),
    ("capset", ()),
]  # fmt: skip


@both
def test_what_python_needs_is_allowed_and_what_could_reach_others_is_refused(machine: str) -> None:
    for calls, wanted in ((NEEDED, ALLOW), (OUTWARD, EPERM)):
        for name, arguments in calls:
            assert decision(machine, numbers(machine)[name], *arguments) == wanted, (name, arguments)


@both
def test_new_calls_look_as_if_the_kernel_lacked_them(machine: str) -> None:
    known = {number for name, number in numbers(machine).items() if not name.startswith("landlock")}
    for number in {*range(424, 1000)} - known:
        assert decision(machine, number) == ENOSYS


@both
def test_calls_of_another_architecture_kill(machine: str) -> None:
    other = next(arch for name, arch in AUDIT_ARCH.items() if name != machine)
    assert decision(machine, 0, arch=other) == KILL
    assert decision(machine, 0x40000000 + 39) == KILL


def headers() -> dict[str, dict[str, int]]:
    """Numbers by machine from the kernel's own headers."""
    sources = {
        "x86_64": "#include <asm/unistd_64.h>",
        "aarch64": "#define __BITS_PER_LONG 64\n#define __ARCH_WANT_RENAMEAT\n#define __ARCH_WANT_NEW_STAT\n"
        "#define __ARCH_WANT_SET_GET_RLIMIT\n#define __ARCH_WANT_SYS_CLONE3\n#include <asm-generic/unistd.h>",
    }
    found = {}
    for machine, source in sources.items():
        command = ["cc", "-E", "-dM", "-x", "c", "-"]
        try:
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("needs a C compiler and the kernel's headers")
        raw = dict(re.findall(r"#define (__NR\w*) (\w+)", done.stdout))
        values = {name.removeprefix("__NR_"): raw.get(value, value) for name, value in raw.items() if name[4:5] == "_"}
        found[machine] = {name: int(value) for name, value in values.items() if value.isdigit()}
    return found


FORBIDDEN = """
    socket connect bind sendmsg recvmsg execve execveat ptrace process_vm_writev mount unshare setns io_uring_setup
    keyctl bpf pidfd_open pidfd_send_signal pidfd_getfd memfd_create chroot fchmodat fchownat utimensat setxattr
    truncate fallocate mknodat setuid setresuid setsid setpgid prctl setpriority sched_setaffinity rt_sigqueueinfo
    tkill shmget mq_open userfaultfd perf_event_open open_by_handle_at name_to_handle_at timer_create clone3 openat2
"""
with_headers = pytest.mark.skipif(
    not Path("/usr/include/asm-generic/unistd.h").exists(), reason="needs the kernel's headers"
)


@with_headers
@both
def test_numbers_are_the_kernels(machine: str) -> None:
    table = headers()[machine]
    assert {name: table[name] for name in numbers(machine)} == numbers(machine)


@with_headers
@both
def test_no_call_is_allowed_that_the_list_does_not_name(machine: str) -> None:
    table = headers()[machine]
    decisions = {name: decision(machine, number, *[0xFFFFFFFF] * 6) for name, number in table.items()}
    assert {name for name, what in decisions.items() if what == ALLOW} <= set(numbers(machine))
    for name in FORBIDDEN.split():
        assert decision(machine, table[name]) in (EPERM, ENOSYS), name
