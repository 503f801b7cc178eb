"""In which cloud a live journal is simulated where nobody names one: in its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hcloud.model.catalog import Provider
from hcloud.model.files import HEAD, sort_of
from hcloud.readers.configuration.config import Loaded
from hcloud.store.journal import LiveOrigin, read_header
from hcloud.usecases.workloads.sources import Flags

NO_PRICES = (
    "machines of this machine have no price: types, prices and cloud are those of the HCloud study;"
    " 'hcloud operate status --compare' counts hours of vCPUs on the machines that there were"
)


def as_the_journal_says(loaded: Loaded, flags: Flags) -> tuple[Flags, tuple[str, ...]]:
    """The flags with region and types of a live journal, and what is to be said of prices; as they are for other
    workloads, and where flags or configuration name a market."""
    named = flags.providers or flags.regions or flags.families or flags.vcpus is not None
    if named or "markets" in loaded.config.model_fields_set or not is_journal(flags.workload):
        return flags, ()
    setup, live = read_header(Path(str(flags.workload)))
    if live is None:
        return flags, ()
    if live.cloud not in list(Provider):
        return flags, (NO_PRICES,)
    types = tuple(facts.name for facts in setup.types)
    there = replace(flags, providers=(Provider(live.cloud),), regions=(live.region,), families=types)
    return replace(there, vcpus=setup.large.cores // 1000), (_said(live, types),)


def is_journal(workload: str | None) -> bool:
    """Whether a workload is a file that begins like a journal."""
    if workload is None or not Path(workload).is_file():
        return False
    with Path(workload).open("rb") as file:
        found = sort_of(file.read(HEAD))
    return found is not None and found.name == "a journal"


def _said(live: LiveOrigin, types: tuple[str, ...]) -> str:
    return f"region and types are those of the journal: {live.cloud} {live.region}, {', '.join(types)}"
