"""``hcloud profile run``: measure an application on this machine and keep what was found, also when interrupted."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.measured.app import App
from hcloud.model.measured.profile import RESOURCES, Profile, about_another, merged
from hcloud.profiling import place
from hcloud.profiling.session import BASELINE_SHARE, MachineFindings, ProfilingSession, fitting, learn
from hcloud.readers.applications.profiles import load_profile
from hcloud.store.profiles import check_target, save_profile
from hcloud.temporary import heard_ends
from hcloud.units import counted, counted_vcpus, format_duration
from hcloud.usecases.measuring.profile_names import file_stem

BUSY_SECONDS = 0.5  # ours: how long to look before a run
MOST_BUSY = 0.2  # ours: vCPUs that others may use


@dataclass(frozen=True, slots=True)
class ProfileRun:
    """A profile, where it was written, and which signal cut the run short (0: none)."""

    profile: Profile
    path: Path
    interrupted: int = 0


def resources_named(words: Sequence[str]) -> tuple[str, ...]:
    """The resources in a list of names that may be joined by commas; all without any."""
    names = [n for word in words for n in word.split(",") if n]
    for name in names:
        if name not in (*RESOURCES, "none"):
            raise UsageError(
                f"there is no resource {name!r}{did_you_mean(name, RESOURCES)}",
                hint=f"known: {', '.join(RESOURCES)}, or none",
            )
    return tuple(r for r in RESOURCES if r in names or not names)


def target_of(app: App, out: Path | None, *, alone: bool = True) -> Path:
    """Where a profile goes: what the user says (of several a folder), else a file of the application's name; checked
    before long work."""
    check_name(app.name)
    path = (out or Path(file_name(app.name))) if alone else (out or Path()) / file_name(app.name)
    check_target(path)
    earlier(path, ProfilingSession(app, ()).profile())
    return path


def targets_of(apps: Sequence[App], out: Path | None) -> list[Path]:
    """Where each profile goes; UsageError where two would be written to one file, as some file systems tell names."""
    found: dict[str, tuple[str, Path]] = {}
    for app in apps:
        path = target_of(app, out, alone=len(apps) == 1)
        other = found.get(str(path).casefold())
        if other is not None:
            raise UsageError(f"{path}: {other[0]!r} and {app.name!r} would both write this file", hint="rename one")
        found[str(path).casefold()] = (app.name, path)
    return [path for _, path in found.values()]


def check_name(app: str) -> None:
    """UsageError for a name that could not be told from the path of a profile."""
    if not app.strip() or "/" in app or app.startswith(".") or not app.isprintable():
        raise UsageError(
            f"application {app!r}: is no name of an application",
            hint="--name NAME: without / and control characters, and not with a dot first",
        )


def file_name(app: str) -> str:
    """The name of a profile's file."""
    return f"{file_stem(app)}.profile.yaml"


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """Which resources, in the order of which seed, what was already found out about the machine, and what others do on
    it (``busy_warning``)."""

    resources: tuple[str, ...]
    seed: int = 0
    known: MachineFindings = field(default_factory=MachineFindings)
    busy: str = ""


def app_files(path: Path) -> tuple[Path, ...]:
    """The descriptions at a path: a file, or every one of a folder by name."""
    if not path.is_dir():
        return (path,)
    found = tuple(sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file()))
    if not found:
        raise UsageError(f"{path}: does not describe an application")
    return found


def busy_warning() -> str:
    """What to know before a run on a machine that other programs use; "" on an idle one."""
    _need_linux()
    cores = place.own_cores()
    busy = place.busy_vcpus(cores, BUSY_SECONDS)
    if busy is None or busy <= MOST_BUSY:
        return ""
    return (
        f"other programs use {busy:.1f} of {counted_vcpus(len(cores))}: completion times and scores will be too bad or "
        "not measurable; measure on an otherwise idle machine"
    )


def short_time(app: App, probing: ProbeRequest) -> str:
    """What to say before a run whose time is not enough for all of its resources; empty where it is."""
    seconds, chosen = app.limits.total_seconds, len(probing.resources)
    enough = fitting(seconds * (1 - 1 / BASELINE_SHARE))
    if enough >= chosen:
        return ""
    return (
        f"{format_duration(round(seconds))} lasts for about {enough} of {counted(chosen, 'resource')}:"
        " --resources names those to measure, --time-cap allows more"
    )


def look_at_machine(probing: ProbeRequest, apps: Sequence[App], advance: Callable[[float], None]) -> None:
    """Find out once, before several programs are measured and outside of their time, what can be told here."""
    _need_linux()
    learn(probing.known, apps[0].shape, probing.resources, advance)


def run_profile(app: App, probing: ProbeRequest, out: Path, advance: Callable[[float], None]) -> ProfileRun:
    """Measure and write the profile, with what earlier runs found; an interrupted run is written too, once its baseline
    stands."""
    _need_linux()
    session = ProfilingSession(app, probing.resources, probing.seed, known=probing.known)
    before = earlier(out, session.profile())
    if probing.busy:
        session.notes.append(f"not known well: {probing.busy}")
    told = _EndSignal()
    with heard_ends(told):
        try:
            session.run(advance)
        except KeyboardInterrupt:
            told.number = told.number or signal.SIGINT
        told.is_over = True
        if session.stands or not told.number:
            if told.number:
                session.notes.append("interrupted; measurements so far are kept")
            profile = session.profile()
            profile = merged(before, profile) if before else profile
            save_profile(profile, out)
            return ProfileRun(profile, out, told.number)
    os.kill(os.getpid(), told.number)  # nothing is lost: end as by a signal that nobody heard
    raise KeyboardInterrupt


@dataclass(slots=True)
class _EndSignal:
    """Which signal asked for the end. What ends the process keeps as much as Ctrl-C does; once measuring is over, none
    comes between the measurements and their file."""

    number: int = 0
    is_over: bool = False

    def __call__(self, number: int, _: object) -> None:
        self.number = self.number or number
        if not self.is_over:
            raise KeyboardInterrupt


def earlier(path: Path, found: Profile) -> Profile | None:
    """The profile that is there already; UsageError where it is about something else, and would be lost. Read before
    long work, so that this and a damaged one are refused before it."""
    before = load_profile(path) if path.is_file() and path.stat().st_size else None
    if before is not None and (about := about_another(before, found)):
        raise UsageError(
            f"{path}: is a profile of something else ({about}), and nothing of that would be kept",
            hint="write another file (--out, or another name), or delete this one",
        )
    return before


def _need_linux() -> None:
    if sys.platform != "linux":
        raise UsageError("profile run needs Linux", hint="hcloud profile import reads what other tools measured")
