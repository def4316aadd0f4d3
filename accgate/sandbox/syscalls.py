"""Numbers of Linux's system calls on the two machines accgate knows (asm/unistd_64.h, asm-generic/unistd.h)."""

import os
import sys

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


def numbers(machine: str) -> dict[str, int]:
    """Return the number of each system call by name.

    Those the machine lacks are left out.

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
