"""The loop of the program that runs the jobs of one machine."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import time

from hcloud.profiling.programs.keeper import AT_ONCE, GROUP, LOST, MARK, NEVER
from hcloud.profiling.programs.keeper.files import drain, names, poke, sync, text, unlink, write
from hcloud.profiling.programs.keeper.groups import (
    MIB,
    SIGNS,
    KeptAttempt,
    Spare,
    is_in,
    limit,
    limit_cpu,
    limits_memory,
    make_groups,
    members,
    ran_out_of_memory,
    removed,
    usable,
    yield_to_others,
)
from hcloud.profiling.programs.keeper.processes import (
    children,
    give_way,
    kill,
    kill_if,
    resident,
    signal_all,
    started_at,
)

_MARKS = ("HYC_MACHINE", "HYC_PROFILE_RUN")
_NOT_FOUND, _NOT_STARTED = 127, 126  # what shells say
GRACE = 5.0  # ours: seconds between asking a job to end and killing it
LOOK_EVERY = 2.0  # ours: seconds until a poke that was lost is noticed
WATCH_EVERY = 0.25  # ours: how often memory is measured where no control group limits it
SPARES = 2  # ours: how many jobs can begin at once without waiting for the kernel
_AGAIN = 0.01
_DOUBTS = 5  # ours: looks at a process without an environment before it counts as one that has none
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_RESET = (1, 2, 3, 10, 12, 13, 15, 17, 25)  # a job ignores none of the signals that this program or a shell ignores


class Keeper:
    """The jobs of the machine whose folder is the current directory; ``groups`` are the machine's control groups."""

    def __init__(self, groups: list[str]) -> None:
        self.groups, self.folder, self.pid = groups, os.getcwd(), os.getpid()
        self.number = 0
        self.doubts: dict[int, int] = {}
        self.spares: list[Spare] = []
        self.jobs: dict[int, KeptAttempt] = {}
        self.ending: list[KeptAttempt] = []
        self.empty_groups: list[str] = []
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.poke = os.open("poke", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.wakes, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(self.poke, select.POLLIN)
        self.poll.register(self.wakes, select.POLLIN)

    def keep(self) -> None:
        """Do what there is to do whenever somebody pokes, a process ends or time is up; never returns."""
        self.prepare()
        while True:
            self.reap()
            if self.clear():
                poke("../poke")
            self.heed()
            self.take()
            self.press()
            if self.poll.poll(self.patience() * 1000):
                for handle in (self.poke, self.wakes):
                    drain(handle)

    def patience(self) -> float:
        """How long there is nothing to do unless something happens."""
        if self.ending or self.empty_groups:
            return _AGAIN
        waits = [LOOK_EVERY]
        if any(not limits_memory(job.groups) for job in self.jobs.values()):
            waits.append(WATCH_EVERY)
        now = time.monotonic()
        waits += [max(job.deadline - now, 0) for job in self.jobs.values() if job.deadline is not None]
        return min(waits)

    def reap(self) -> None:
        """Take note of the processes that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for spare in [s for s in self.spares if s.pid == pid]:
                self.spares.remove(spare)
                self.empty_groups += spare.groups
                os.close(spare.orders)
            if (job := self.jobs.pop(pid, None)) is not None:
                code = os.waitstatus_to_exitcode(status)
                job.code = 128 - code if code < 0 else code
                self.ending.append(job)

    def heed(self) -> None:
        """Do what was asked of attempts that run; what was asked of others is kept until they come or are over."""
        by_name = {job.name: job for job in self.jobs.values()}
        for ask in names("asks"):
            name, _, what = ask.rpartition(".")
            job = by_name.get(name)
            if job is None:
                continue
            if what == "stop" and text(f"asks/{ask}") == AT_ONCE:
                job.deadline = time.monotonic()
                unlink(f"asks/{ask}")
            elif what == "stop" and job.deadline is None:
                job.deadline = time.monotonic() + GRACE
                signal_all(job.pid, signal.SIGTERM)
                signal_all(job.pid, signal.SIGCONT)
            elif what == "cpu":
                if (wanted := text(f"asks/{ask}")).isdecimal():
                    limit_cpu(job.groups, int(wanted))
                unlink(f"asks/{ask}")

    def press(self) -> None:
        """Kill what did not end when asked to, and what took more memory than it may where no group sees to that."""
        now = time.monotonic()
        for job in self.jobs.values():
            if job.deadline is not None and now >= job.deadline:
                job.deadline = now + GRACE
                signal_all(job.pid, signal.SIGKILL)
            elif not limits_memory(job.groups) and resident(job.pid) > job.memory * MIB:
                job.out_of_memory = True
                signal_all(job.pid, signal.SIGKILL)

    def take(self) -> None:
        """Begin what is in the inbox. It counts as begun when its new place in ``running`` will outlast a crash."""
        begun = []
        leaving, asks = os.path.exists("leaving"), set(names("asks"))
        for name in sorted(names("inbox")):
            order = _order(f"inbox/{name}")
            if order is None or leaving or f"{name}.stop" in asks:
                self.tell(f"inbox/{name}", f"{name}.{LOST}.{NEVER}.{_ms(time.time())}.0")
                poke("../poke")
            elif (began := _begun(name)) is not None:
                begun.append((name, order, began))
        if begun:
            sync("running")
        for name, order, began in begun:
            self.begin(name, order, began)
        if begun:  # and not whenever one of them dies: where memory is short they would come and go for ever
            self.prepare()

    def begin(self, name: str, order: dict[str, object], began: float) -> None:
        """Give it to a process that waits for one, in control groups of its own with the limits it asked for."""
        cores, memory = order["cores"], order["memory"]
        assert isinstance(cores, int)
        assert isinstance(memory, int)
        try:
            waiting = self.spares.pop(0) if self.spares else self.spare()
            job = KeptAttempt(name, began, memory, waiting)
            limit(waiting.groups, cores, memory)
            if order.get("yields") is True:
                yield_to_others(waiting.groups)
            with open(waiting.orders, "wb") as pipe:
                pipe.write(json.dumps({**order, "name": name}).encode() + b"\n")
        except OSError:
            self.tell(f"running/{name}", f"{name}.{LOST}.{NEVER}.{_ms(time.time())}.0")
            poke("../poke")
            return
        self.jobs[job.pid] = job

    def prepare(self) -> None:
        """Have processes that wait for jobs: to enter a control group may take the kernel 10 ms."""
        with contextlib.suppress(OSError):
            while self.groups and len(self.spares) < SPARES:
                self.spares.append(self.spare())

    def spare(self) -> Spare:
        """A process that waits for a job in a session and control groups of its own."""
        self.number += 1
        groups = make_groups(self.groups, f"{GROUP}{self.pid}-{self.number}")
        reads, writes = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError:
            os.close(writes)
            self.empty_groups += groups
            raise
        finally:
            if os.getpid() == self.pid:
                os.close(reads)
        if not pid:
            os.close(writes)
            self.become(groups, reads)
        return Spare(pid, groups, writes)

    def become(self, groups: list[str], orders: int) -> None:
        """In the new process: wait for a job, and become its command."""
        code, name = _NOT_STARTED, "job"
        try:
            missing = self.enter(groups)
            with open(orders, "rb") as pipe:
                order = json.loads(pipe.readline() or b"{}")  # to its end would be for ever: later spares hold it open
            if order:
                if order.get("yields") is True:
                    give_way()
                self.direct(order)
                command = _words(order, "command")
                name = command[0]
                if missing is not None:
                    raise missing
                os.chdir(order["directory"])
                code = _NOT_FOUND
                os.execvpe(name, command, self.environment(order))
        except FileNotFoundError as error:
            _complain(name, "command not found" if code == _NOT_FOUND else str(error))
        except BaseException as error:
            code = _NOT_STARTED
            _complain(name, str(error))
        finally:
            os._exit(code)

    def enter(self, groups: list[str]) -> OSError | None:
        """Take the place of a job, and die with this program; what kept it from that."""
        self.libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.pid:
            os._exit(_NOT_STARTED)
        os.setsid()
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        try:
            for group in groups:
                write(f"{group}/cgroup.procs", "0")
        except OSError as error:
            return error
        return None

    def direct(self, order: dict[str, object]) -> None:
        """Nothing comes in; what is printed goes to the job's two files."""
        with contextlib.ExitStack() as opened:
            for number, path in ((0, os.devnull), (1, str(order["out"])), (2, str(order["err"]))):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY
                handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
                opened.callback(os.close, handle)
                os.dup2(handle, number)

    def environment(self, order: dict[str, object]) -> dict[str, str]:
        """What hcloud gave it, the marks of what this program itself belongs to, and its own name."""
        given = order.get("environment")
        words = {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
        marks = {mark: os.environ[mark] for mark in _MARKS if mark in os.environ}
        own = {"HCLOUD_JOB": str(order["job"]), "HCLOUD_PROGRESS": f"{self.folder}/progress/{order['name']}"}
        return {**words, **marks, **own, MARK: f"{order['token']}/{order['name']}"}

    def clear(self) -> bool:
        """Kill what is left of jobs that ended, and tell of those of which nothing is; whether there were any."""
        self.empty_groups = [group for group in self.empty_groups if not removed(group)]
        ended = self.ending
        if not ended:
            return False
        strays = self.strays()
        self.doubts = {pid: count for pid, count in self.doubts.items() if pid in strays}
        self.ending = [job for job in ended if self.is_left(job, strays) or not self.finish(job)]
        return len(self.ending) < len(ended)

    def is_left(self, job: KeptAttempt, strays: list[int]) -> bool:
        """Whether anything of a job whose main process ended is left; it is killed."""
        own = [pid for pid in strays if (pid, started_at(pid)) in job.strays or self.owner(pid, job)]
        job.strays |= {(pid, started_at(pid)) for pid in own}  # one that is about to end shows no sign of it any more
        for pid in own:
            kill(pid)
        inside = {pid for group in job.groups for pid in members(group)} - set(own)
        for pid in inside:
            kill_if(pid, lambda p: any(is_in(p, group) for group in job.groups))
        return bool(own or inside) or any(self.is_unclear(pid) for pid in strays)

    def is_unclear(self, pid: int) -> bool:
        """Whether a stray child shows no environment, as one that is starting a program does for a moment."""
        if text(f"/proc/{pid}/environ") or self.doubts.get(pid, 0) >= _DOUBTS:
            return False
        self.doubts[pid] = self.doubts.get(pid, 0) + 1
        return True

    def strays(self) -> list[int]:
        """The children of this program that it did not start: their parents ended. One that ended since it was listed
        may have left its own children, which are on no list but the next."""
        known = {*self.jobs, *(spare.pid for spare in self.spares)}
        while True:
            found = [pid for pid in children(self.pid) if pid not in known]
            ended = {pid for pid in found if started_at(pid) is None}
            if not ended:
                return found
            known |= ended

    def owner(self, pid: int, job: KeptAttempt) -> bool:
        """Whether a stray child belongs to this job that ended. One that shed every sign of it belongs to all jobs that
        ran when it started, and so to the last of them that ends."""
        running = [*self.jobs.values(), *self.ending]
        for sign in SIGNS:
            if (found := next((other for other in running if sign(pid, other)), None)) is not None:
                return found is job
        start = started_at(pid) or 0
        return job.start <= start and not any(other.start <= start for other in self.jobs.values())

    def finish(self, job: KeptAttempt) -> bool:
        """Tell how it ended; False where that could not be done yet."""
        memory = int(job.out_of_memory or ran_out_of_memory(job.groups))
        told = f"{job.name}.{job.code}.{_ms(job.began)}.{_ms(job.ended())}.{memory}"
        if not self.tell(f"running/{job.name}", told):
            return False
        self.empty_groups += [group for group in job.groups if not removed(group)]
        return True

    def tell(self, place: str, told: str) -> bool:
        """Move an attempt's file to where it is over."""
        try:
            os.rename(place, f"done/{told}")
        except FileNotFoundError:
            return True
        except OSError:
            return False
        name = place.partition("/")[2]
        for what in ("stop", "cpu"):
            unlink(f"asks/{name}.{what}")
        return True


def _order(path: str) -> dict[str, object] | None:
    """What an attempt is to run; None where the file does not say."""
    try:
        found = json.loads(text(path))
    except ValueError:
        return None
    if not isinstance(found, dict) or not _words(found, "command"):
        return None
    if not all(isinstance(found.get(key), str) for key in ("job", "token", "out", "err", "directory")):
        return None
    return found if all(type(found.get(key)) is int for key in ("cores", "memory")) else None


def _words(order: dict[str, object], key: str) -> list[str]:
    given = order.get(key)
    return given if isinstance(given, list) and all(isinstance(word, str) for word in given) else []


def _begun(name: str) -> float | None:
    """Move an attempt to where it counts as begun, and say when that was; None where that could not be done."""
    now = int(time.time() * 1000) / 1000
    try:
        os.rename(f"inbox/{name}", f"running/{name}")
        os.utime(f"running/{name}", (now, now))
    except OSError:
        return None
    return now


def _complain(command: str, why: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"hcloud: {command}: cannot start: {why}\n".encode(errors="replace"))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def main(folder: str) -> None:
    """Run the jobs that come to a folder, unless another did before or the machine is leaving already."""
    groups = usable(text("groups").splitlines())
    os.chdir(folder)
    lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists("up") or os.path.exists("leaving"):
        return
    keeper = Keeper(groups)
    with open(".up", "w", encoding="utf-8") as file:
        json.dump({"groups": [f"{group}/{GROUP}{keeper.pid}-" for group in groups]}, file)
    os.rename(".up", "up")
    poke("../poke")
    keeper.keep()
