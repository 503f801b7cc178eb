"""Two profiles of one application as one: the newest number of every resource and shape, each with its own date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hcloud.model.measured.profile import Aspect, FailedMeasurement, Measured, Profile


def merged(before: Profile, after: Profile) -> Profile:
    """The later profile with what only the earlier one has; a measurement and a failure replace each other.

    Of another application, command or metric nothing is kept: its numbers would be about something else. A score that
    an earlier run could measure stays where a later one could not.
    """
    if _subject(before) != _subject(after):
        return after
    entries: dict[Aspect, dict[str, Measured]] = {}
    failures: dict[Aspect, dict[str, FailedMeasurement]] = {}
    kept: list[str] = []
    for aspect in Aspect:
        newest = {**_told(before, aspect)}
        for column, told in _told(after, aspect).items():
            if column not in newest or told.at >= newest[column].at:
                newest[column] = told
        ours = _told(after, aspect)
        kept += [f"{aspect.value} {c} ({t.at.date()})" for c, t in newest.items() if ours.get(c) is not t]
        for column, told in newest.items():
            if isinstance(told, Measured):
                entries.setdefault(aspect, {})[column] = told
            else:
                failures.setdefault(aspect, {})[column] = told
    notes = (*after.notes, f"kept of earlier runs: {', '.join(kept)}") if kept else after.notes
    reasons = {**before.unmeasurable, **after.unmeasurable}
    unmeasurable = {r: why for r, why in reasons.items() if r not in set(_scored(entries))}
    return replace(after, entries=entries, failures=failures, unmeasurable=unmeasurable, notes=notes)


def _subject(profile: Profile) -> tuple[object, ...]:
    return profile.app, profile.kind, profile.metric, profile.command


def _told(profile: Profile, aspect: Aspect) -> Mapping[str, Measured | FailedMeasurement]:
    return {**profile.failures.get(aspect, {}), **profile.entries.get(aspect, {})}


def _scored(entries: Mapping[Aspect, Mapping[str, Measured]]) -> Iterator[str]:
    for aspect, columns in entries.items():
        if aspect.is_interference:
            yield from columns
