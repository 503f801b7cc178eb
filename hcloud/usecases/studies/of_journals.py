"""In which cloud a live journal is simulated where nobody names one: in its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hcloud.model.catalog import Provider
from hcloud.model.files import HEAD, sort_of
from hcloud.policy.facts import Setup
from hcloud.readers.configuration.config import Loaded
from hcloud.store.journals.journal import LiveOrigin, read_header
from hcloud.units import counted
from hcloud.usecases.studies.simulation import LARGE_VCPUS
from hcloud.usecases.workloads.sources import Flags

NO_PRICES = (
    "machines on this computer have no price: types, prices and cloud are those of the HCloud study, with servers of {}"
    " as in the journal; 'hcloud operate status --compare' counts vCPU-hours on the machines that there were"
)


class JournalMarket(NamedTuple):
    """The flags with what a journal adds to them, what is to be said of prices, and how many vCPUs its servers have
    where nobody sells them."""

    flags: Flags
    notes: tuple[str, ...] = ()
    servers_of: int = LARGE_VCPUS


def as_the_journal_says(loaded: Loaded, flags: Flags, cloud: str | None, *, sized: bool) -> JournalMarket:
    """The flags with region and types of a live journal that they or the configuration name, and what is to be said of
    prices and, where strategies are ``sized`` for the jobs, of the reserve; as they are for other workloads, and where
    a ``cloud``, or in flags or configuration a market, is named."""
    named = cloud or flags.providers or flags.regions or flags.families or flags.vcpus is not None
    if named or "markets" in loaded.config.model_fields_set:
        return JournalMarket(flags)
    journal = _file_of(loaded, flags)
    if journal is None or not is_journal(journal):
        return JournalMarket(flags)
    setup, live = read_header(journal)
    if live is None:
        return JournalMarket(flags)
    vcpus, reserve = max(setup.large.cores // 1000, 1), _said_of_reserve(setup) if sized else ()
    if live.cloud not in list(Provider):
        return JournalMarket(flags, (NO_PRICES.format(counted(vcpus, "vCPU")), *reserve), vcpus)
    types = tuple(facts.name for facts in setup.types)
    there = replace(flags, providers=(Provider(live.cloud),), regions=(live.region,), families=types)
    return JournalMarket(replace(there, vcpus=vcpus), (_said(live, types), *reserve))


def _file_of(loaded: Loaded, flags: Flags) -> Path | None:
    """Where the workload would be if it is a file."""
    if flags.workload is not None:
        return Path(flags.workload)
    stated = loaded.config.workload.path
    return None if stated is None else loaded.resolve(stated)


def is_journal(workload: Path) -> bool:
    """Whether a workload is a file that begins like a journal."""
    if not workload.is_file():
        return False
    with workload.open("rb") as file:
        found = sort_of(file.read(HEAD))
    return found is not None and found.name == "a journal"


def _said(live: LiveOrigin, types: tuple[str, ...]) -> str:
    return f"region and types are those of the journal: {live.cloud} {live.region}, {', '.join(types)}"


def _said_of_reserve(setup: Setup) -> tuple[str, ...]:
    """That a strategy sizes its own reserve, where the run had one."""
    if not setup.reserve:
        return ()
    there = " + ".join(f"{servers} x {setup.types[kind].name}" for kind, servers in setup.lots if servers)
    alike = "" if setup.beside else f" (--pool {setup.pool}: as many)"
    return (f"the run reserved {there}; here a strategy sizes its own reserve for these jobs{alike}",)
