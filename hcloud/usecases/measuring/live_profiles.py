"""Profiles that live work reads and adds to: what was seen of an application is there for the next plan."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np

from hcloud.classify.matrix import Matrix
from hcloud.model.measured.profile import RESOURCES, UNKNOWN_SCORE, Aspect, Estimate, Measured, Metric, Profile
from hcloud.model.measured.seen import FittedVector, SeenRun
from hcloud.model.workload import JobKind
from hcloud.planning.forecasting.needs import need_of
from hcloud.readers.applications.profiles import load_profile
from hcloud.readers.configuration.config import Loaded
from hcloud.store.profiles import save_profile
from hcloud.units import counted, short_percent
from hcloud.usecases.measuring.classify import BUNDLED, Solver, estimate_of, open_corpus, options_of
from hcloud.usecases.measuring.profile_names import file_of
from hcloud.usecases.measuring.profile_run import file_name

FOLDER = "profiles"
LIVE = "live work"
"""How the source of an entry begins that was seen in live work."""
WORK = Metric("vCPUs at the expected speed", "vCPU", rising=True)
"""What all vCPUs of a machine do, beside what was expected of each: types of different sizes compare."""
LOST = 0.05
"""The loss of performance that a tolerated score is defined by (Paragon, TOCS 31(4), §2.3)."""
LEAST_SPREAD = 0.2
"""Ours: half of the interval of a single run, relative; runs of one application differ."""
_Z95 = 1.96
_TOLD = re.compile(rf"{LIVE} on (?P<type>\S+): (?P<runs>\d+) runs? at (?P<share>[\d.]+) of what was expected")


def profiles_of(loaded: Loaded, beside: Path) -> LiveProfiles:
    """The profiles of live work: in the configured folder, else beside its state."""
    section = loaded.config.profiles
    folder = beside / FOLDER if section.folder is None else loaded.resolve(section.folder)
    corpus = section.corpus if section.corpus == BUNDLED else str(loaded.resolve(Path(section.corpus)))
    return LiveProfiles(folder, corpus)


class LiveProfiles:
    """Implements hcloud.live.operating.terms.Teachable over a folder of profiles; may be used from many threads. What
    somebody measured is never changed."""

    def __init__(self, folder: Path, corpus: str) -> None:
        self._folder, self._corpus_name = folder, corpus
        self._held = Lock()

    @cached_property
    def _corpus(self) -> Mapping[Aspect, Matrix]:
        return open_corpus(self._corpus_name)

    def vector(self, app: str) -> tuple[int, ...] | None:
        """The estimated vector of an application; None without a profile of it. Takes a second or so."""
        found = file_of(app, self._folder)
        return None if found is None else self._need(load_profile(found))

    def _need(self, profile: Profile) -> tuple[int, ...] | None:
        return need_of(profile, self._estimate(profile)).vector

    def _estimate(self, profile: Profile) -> Estimate:
        return estimate_of(profile, self._corpus, options_of(Solver.RIDGE, None))

    def _open(self, app: str, kind: JobKind) -> tuple[Path, Profile]:
        """Where an application's profile is or goes, and the profile."""
        if (found := file_of(app, self._folder)) is not None:
            return found, load_profile(found)
        path, number = self._folder / file_name(app), 1
        while path.exists():  # another application's, whose name is written alike
            number += 1
            path = self._folder / file_name(f"{app}-{number}")
        return path, Profile(app, kind, WORK, (), {})

    def _save(self, profile: Profile, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        save_profile(profile, path)

    # ---- an estimate that was wrong

    def refit(self, seen: SeenRun) -> FittedVector | None:
        """One entry more: of the resources that others took and nobody measured, the one that the application was
        expected to bear least beyond that, with the pressure at which it would have lost 5 %, had its loss grown in
        proportion. The rest of its row follows from the applications seen before."""
        with self._held:
            path, profile = self._open(seen.app, seen.kind)
            expected = self._tolerance(profile)
            guilty = _least_certain(profile, expected, seen.pressure)
            if guilty is None:
                return None
            taken = seen.pressure[RESOURCES.index(guilty)]
            bears = taken * min(LOST / max(1.0 - seen.share, LOST), 1.0)
            share = f"{LIVE}: {short_percent(seen.share)} of what was expected"
            source = f"{share}, {taken:.3g} points of pressure from neighbours"
            entry = Measured(bears, 0.0, max(taken, bears), 1, _when(seen), _machine([seen]), source)
            fitted = _with(profile, Aspect.TOLERATED, {guilty: entry})
            self._save(fitted, path)
            vector = self._need(fitted)
        before = f"expected {expected[guilty]:.3g}" if guilty in expected else "unknown before"
        why = f"{source}: it tolerates {bears:.3g} points of {guilty} ({before})"
        changed = "; it met its target before, so its behaviour has changed"
        return None if vector is None else FittedVector(vector, why + (changed if seen.phase else ""))

    def _tolerance(self, profile: Profile) -> dict[str, float]:
        """What an application is expected to tolerate by its estimate; else what those seen before do in the mean."""
        matrix = self._corpus.get(Aspect.TOLERATED)
        usual = {} if matrix is None else dict(zip(matrix.columns, np.nanmean(matrix.values, axis=0), strict=True))
        row = self._estimate(profile).rows.get(Aspect.TOLERATED)
        known = {name: predicted.value for name, predicted in row.columns.items()} if row else {}
        seen = {name: entry.value for name, entry in profile.entries.get(Aspect.TOLERATED, {}).items()}
        return {**{name: float(value) for name, value in usual.items()}, **known, **seen}

    # ---- what was seen, for plans

    def record(self, runs: Sequence[SeenRun]) -> None:
        """The work by type, where nobody measured the application in a metric of its own; beside a measured profile the
        share of what was expected, as notes."""
        with self._held:
            for app in sorted({run.app for run in runs}):
                mine = [run for run in runs if run.app == app]
                path, profile = self._open(app, mine[0].kind)
                by_type = {name: [r for r in mine if r.type_name == name] for name in {r.type_name for r in mine}}
                self._save(_recorded(profile, by_type), path)


def _least_certain(profile: Profile, expected: Mapping[str, float], pressure: Sequence[float]) -> str | None:
    """The resource that an application suffered by most likely; those that others seen before tell nothing of come
    last. None where all that others took was measured."""
    own = {name for name, m in profile.entries.get(Aspect.TOLERATED, {}).items() if not m.source.startswith(LIVE)}
    taken = {name: points for name, points in zip(RESOURCES, pressure, strict=True) if points > 0 and name not in own}
    unknown = 100.0 - UNKNOWN_SCORE
    return min(taken, key=lambda n: (n not in expected, expected.get(n, unknown) - taken[n]), default=None)


def _recorded(profile: Profile, by_type: Mapping[str, Sequence[SeenRun]]) -> Profile:
    if profile.metric != WORK:
        return replace(profile, notes=tuple(_notes(profile.notes, by_type)))
    known = profile.entries.get(Aspect.TYPES, {})
    ours = {name: m for name, m in known.items() if m.source.startswith(LIVE)}
    free = {name: runs for name, runs in by_type.items() if name in ours or name not in known}
    return _with(profile, Aspect.TYPES, {name: _together(ours.get(name), runs) for name, runs in free.items()})


def _together(before: Measured | None, runs: Sequence[SeenRun]) -> Measured:
    """The mean of all runs with its interval: those that were counted before, and these."""
    work = np.array([run.share * run.vcpus for run in runs])
    count, mean, squares = len(work), float(work.mean()), float(((work - work.mean()) ** 2).sum())
    if before is not None:
        deviation = (before.high - before.low) / (2 * _Z95) * math.sqrt(before.samples)
        apart = (mean - before.value) ** 2 * before.samples * count / (before.samples + count)
        squares += deviation**2 * max(before.samples - 1, 0) + apart
        mean = (mean * count + before.value * before.samples) / (count + before.samples)
        count += before.samples
    deviation = math.sqrt(squares / (count - 1)) if count > 1 else 0.0
    half = max(_Z95 * deviation, LEAST_SPREAD * mean) / math.sqrt(count)
    last = max(runs, key=lambda run: run.at)
    source = f"{LIVE}: {counted(count, 'run')}"
    return Measured(mean, max(mean - half, 0.0), mean + half, count, _when(last), _machine(runs), source)


def _notes(notes: Iterable[str], by_type: Mapping[str, Sequence[SeenRun]]) -> Iterator[str]:
    """The notes of a profile with those about live work brought up to date."""
    told: dict[str, tuple[int, float]] = {}
    for note in notes:
        if (found := _TOLD.match(note)) is not None:
            told[found["type"]] = int(found["runs"]), float(found["share"])
        else:
            yield note
    for name, runs in by_type.items():
        count, mean = told.get(name, (0, 0.0))
        whole = count + len(runs)
        told[name] = whole, (mean * count + sum(run.share for run in runs)) / whole
    qualities = {name: _quality(runs) for name, runs in by_type.items()}
    for name, (count, mean) in sorted(told.items()):
        yield f"{LIVE} on {name}: {counted(count, 'run')} at {mean:.4f} of what was expected{qualities.get(name, '')}"


def _quality(runs: Sequence[SeenRun]) -> str:
    found = [run.quality for run in runs if run.quality is not None]
    if not found:
        return ""
    low, high = f"{min(found):.2f}", f"{max(found):.2f}"
    return f", quality {low}" if low == high else f", quality {low} to {high}"


def _machine(runs: Sequence[SeenRun]) -> str:
    return f"{runs[-1].type_name}{_quality(runs)}"


def _when(seen: SeenRun) -> datetime:
    return datetime.fromtimestamp(int(seen.at), UTC)


def _with(profile: Profile, aspect: Aspect, columns: Mapping[str, Measured]) -> Profile:
    """A profile with more columns of an aspect; what was not measurable there is known now."""
    merged = {**profile.entries.get(aspect, {}), **columns}
    if not merged:
        return profile
    left = {r: why for r, why in profile.unmeasurable.items() if not (aspect.is_interference and r in columns)}
    return replace(profile, entries={**profile.entries, aspect: merged}, unmeasurable=left)
