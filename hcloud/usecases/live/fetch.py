"""``hcloud workload fetch``: the machines of an account and how busy they were, as a file that a plan reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from hcloud.errors import DeniedError, EvidenceError, InputError, UsageError, did_you_mean
from hcloud.live.clock import SystemClock
from hcloud.live.patience import Patience, RetryLimits, StoppedError
from hcloud.live.site import Progress, ProgressStep
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.fetched import (
    BillingAnswer,
    Fetched,
    FetchedRows,
    MachineHistory,
    MeasuredMachine,
    Retention,
    SamplingWindow,
)
from hcloud.store.fetched import FetchRecord, FetchScope, MachineHours
from hcloud.store.files.looked_at import check_form, check_place
from hcloud.units import format_span
from hcloud.usecases.live.connect import CloudSettings, open_history
from hcloud.usecases.live.fetched_rows import added_up, write_rows
from hcloud.usecases.prices.pricing import open_book

HOUR, DAY = 3600, 86_400
PERCENT = 100
LIMITS = RetryLimits(spare_calls=1_000_000, deadline=1800.0)
"""Ours: a fetch makes thousands of requests, and has half an hour to be put off."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What to fetch: of which account, back from ``now`` by how much, of which regions (all, where none is named), and
    into which file."""

    settings: CloudSettings
    since_seconds: int
    regions: tuple[str, ...]
    out: Path
    now: datetime
    force: bool = False


@dataclass(frozen=True, slots=True)
class FetchRun:
    """How a run asks and tells: ``stop`` says whether somebody asked for an end."""

    stop: Callable[[], bool] = lambda: False
    progress: Progress = lambda step: None


def fetch(request: FetchRequest, run: FetchRun) -> Fetched:
    """Fetch and write; what was fetched before an end stays beside the file, and the same request goes on with it.

    Raises DeniedError with the missing permission, EvidenceError where there is nothing to write.
    """
    check_form(request.out, "what is fetched", ".csv")
    check_place(request.out, "what is fetched")
    if request.out.exists() and not request.force:
        raise InputError(f"{request.out} already exists", hint="choose another name, or overwrite it with --force")
    patience = Patience(SystemClock(), LIMITS, run.stop, partial(_told, run.progress))
    history = open_history(request.settings, patience.ask)
    window, notes = sampling_window(request.now, request.since_seconds, history.retention)
    regions = request.regions or history.regions(window)
    scope = FetchScope(request.settings.cloud, request.settings.account, tuple(regions), request.since_seconds)
    record = FetchRecord(request.out.with_name(f"{request.out.name}.part"), scope, window)
    try:
        found, refused = _listed(history, regions, record.window, named=bool(request.regions))
        _sampled(history, found, record, run)
        left = [region for region in regions if region not in dict(refused)]
        billed = history.billed(record.window, left)
    except StoppedError as error:
        kept = f"; what was fetched is kept in {record.path}: run the same command again" if record.done else ""
        raise StoppedError(f"{error}{kept}") from error
    cloud, types = CLOUDS[request.settings.cloud].name, open_book().types
    vcpus = {name: float(shape.vcpus) for (by, name), shape in types.items() if by == cloud}
    rows = added_up(list(record.done.values()), billed, record.window, vcpus.get)
    if not rows.lines:
        raise EvidenceError(
            f"no machine of {request.settings.cloud} has a sample of its CPU in {', '.join(left)} since "
            f"{datetime.fromtimestamp(record.window.start, UTC):%Y-%m-%d}",
            hint="name another --region, another account, or a longer --since",
        )
    write_rows(rows, request.out, record.window)
    record.remove()
    unknown = (*notes, *_unknown(history.retention, billed, rows))
    return Fetched(request.out, tuple(left), refused, record.window, rows, unknown)


def sampling_window(now: datetime, since: int, retention: Retention) -> tuple[SamplingWindow, tuple[str, ...]]:
    """Whole hours until now in the finest samples that are kept so long, from a midnight on where it is days; a longer
    time than anything is kept is shortened, which is said."""
    if since < HOUR:
        raise UsageError("--since is less than an hour")
    longest = retention.kept[-1][1] * DAY
    notes: tuple[str, ...] = ()
    if since > longest:
        notes = (f"samples are kept for {format_span(longest)}: the fetch starts there",)
        since = longest
    seconds = next(length for length, days in retention.kept if since <= days * DAY)
    end = int(now.timestamp()) // HOUR * HOUR
    start = end - since
    start += -start % (DAY if since >= 2 * DAY else HOUR)
    return SamplingWindow(start, end, seconds), notes


def _listed(
    history: MachineHistory, regions: Sequence[str], window: SamplingWindow, *, named: bool
) -> tuple[list[MeasuredMachine], tuple[tuple[str, str], ...]]:
    """The machines of all regions; one that is denied is left out where it was not named and others are not."""
    found: list[MeasuredMachine] = []
    refused: list[tuple[str, str]] = []
    for region in regions:
        try:
            found += history.machines(region, window)
        except DeniedError as error:
            if named or len(refused) + 1 == len(regions):
                raise
            refused.append((region, f"{error} ({error.hint})" if error.hint else str(error)))
    return found, tuple(refused)


def _sampled(history: MachineHistory, found: Sequence[MeasuredMachine], record: FetchRecord, run: FetchRun) -> None:
    by_region: dict[str, list[MeasuredMachine]] = {}
    for machine in found:
        if (machine.region, machine.id) not in record.done:
            by_region.setdefault(machine.region, []).append(machine)
    done, size = len(record.done), history.batch(record.window)
    for machines in by_region.values():
        for start in range(0, len(machines), size):
            batch = machines[start : start + size]
            samples = history.samples(batch, record.window)
            record.add([MachineHours.of(m, samples.get(m.id, ((), ())), record.window) for m in batch])
            done += len(batch)
            run.progress(ProgressStep("percent of the machines", PERCENT * done // max(len(found), done), PERCENT))


def _told(progress: Progress, text: str, *, at_once: bool = False) -> None:
    """What somebody who waits says, as a step that leads nowhere."""
    progress(ProgressStep(text, at_once=at_once))


def _unknown(retention: Retention, billed: BillingAnswer, rows: FetchedRows) -> list[str]:
    said = []
    if rows.unknown_types:
        names = ", ".join(sorted(rows.unknown_types))
        said.append(f"the price book does not know {names}: {rows.unknown_hours:,.0f} machine hours are left out")
    if rows.typeless:
        counted = "counted by type from the bill" if billed.lines else "not counted"
        several = "s that have" if rows.typeless != 1 else " that has"
        said.append(f"the cloud no longer reports the type of {rows.typeless:,} machine{several} ended: {counted}")
    if billed.missing:
        said.append(f"hours by type are missing: {billed.missing}")
    if not billed.lines and retention.ended:
        said.append(f"machines that ended earlier are not counted: {retention.ended}")
    return said


def home_settings(cloud: str, account: str, endpoint: str, regions: Sequence[str]) -> CloudSettings:
    """Where an account is asked first: in the first region that is named, else the cloud's usual one."""
    if cloud not in CLOUDS:
        known = ", ".join(CLOUDS)
        raise UsageError(
            f"--cloud {cloud}: there is no such cloud{did_you_mean(cloud, CLOUDS)}", hint=f"one of {known}"
        )
    first = regions[0] if regions else CLOUDS[cloud].home_region
    return CloudSettings(cloud, first, account, endpoint)
