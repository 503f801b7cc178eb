"""Which cloud and region a verb acts on: as is said, else where its plan, its work or its state belongs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import HcloudError, UsageError, did_you_mean
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Scope
from hcloud.model.json_text import parsed
from hcloud.planning.changes.slots import CloudRegion
from hcloud.readers.configuration.config import Loaded
from hcloud.usecases.live.connect import FAKE, IN_MEMORY, LOCAL

if TYPE_CHECKING:
    from hcloud.control.ports import StateStore

FAKE_FILE = "fake-{}.json"
"""Where a rehearsal in memory is kept between two verbs, beside the state."""


@dataclass(frozen=True, slots=True)
class CloudSelection:
    """What the command line says: which cloud, and where its state is; else what the configuration says. ``known`` is
    where the plan or the work belongs that a verb goes on with."""

    cloud: str | None = None
    state: str | None = None
    known: CloudRegion | None = None


def place_of(loaded: Loaded, selection: str, known: Callable[[], CloudRegion | None] = lambda: None) -> CloudRegion:
    """The cloud and region that are acted on. ``fake:gcp`` stands for Google, ``fake`` for the cloud of what is
    ``known`` (a plan, live work, a state), else the first market's. Where no region is said it is that of what is
    known of the same cloud, else the first of the market, else the cloud's usual one."""
    name, _, named = selection.partition(":")
    if selection == LOCAL:
        return CloudRegion(LOCAL, LOCAL)
    wanted = named if name == FAKE and named in (*CLOUDS, LOCAL) else "" if name == FAKE else name
    clouds = [p.value for p in Provider]
    if wanted and wanted not in clouds:
        raise UsageError(
            f"--cloud {selection}: there is no such cloud{did_you_mean(wanted, (*clouds, LOCAL, FAKE))}",
            hint=f"{', '.join(clouds)}, {LOCAL} or {FAKE}",
        )
    said = loaded.config.live.region
    there = None if wanted and said else known()
    if not wanted and there is not None and there.provider in clouds:
        wanted = there.provider
    provider = Provider(wanted) if wanted else loaded.config.markets[0].provider
    if said is not None:
        return CloudRegion(provider, said)
    markets = [m.regions for m in loaded.config.markets if m.provider == provider] or [()]
    if there is not None and there.provider == provider and any(not m or there.region in m for m in markets):
        return CloudRegion(provider, there.region)
    return CloudRegion(provider, (markets[0] or (CLOUDS[provider].home_region,))[0])


def selected_for(loaded: Loaded, named: str | None, scope: Scope) -> str:
    """The cloud to open for a plan: the one that is named, else the one that the plan was made for, a rehearsal if it
    was one. UsageError, before it is opened, where these are two."""
    made_for = _named(scope)
    selection, known = named or loaded.config.live.cloud or made_for, CloudRegion(scope.cloud, scope.region)
    if (scope.cloud, is_fake(made_for)) == (place_of(loaded, selection, lambda: known).provider, is_fake(selection)):
        return selection
    raise UsageError(
        f"the plan was made for --cloud {made_for} ({scope.region}), not for {selection}: nothing was applied",
        hint=f"apply it with --cloud {made_for}, or plan again with --cloud {selection}",
    )


def _named(scope: Scope) -> str:
    return f"{FAKE}:{scope.cloud}" if scope.endpoint == IN_MEMORY else scope.cloud


def cloud_of_state(store: StateStore) -> str:
    """The cloud that a state belongs to, as ``--cloud`` takes it; empty where there is none."""
    with suppress(HcloudError):  # of a state that is damaged others tell
        if (state := store.load()) is not None and state.scope is not None:
            return _named(state.scope)
    return ""


def remembered(store: StateStore, selection: str, beside: Path) -> CloudRegion | None:
    """Where a state belongs; where there is none (any more), and a fake is asked for, the last rehearsal beside it."""
    with suppress(HcloudError):  # of a state that is damaged or cannot be reached others tell
        if (state := store.load()) is not None and state.scope is not None:
            return CloudRegion(state.scope.cloud, state.scope.region)
    return _rehearsed(beside) if is_fake(selection) else None


def _rehearsed(beside: Path) -> CloudRegion | None:
    """Where the last rehearsal that is kept in a directory was; of a damaged one tells who opens it."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = max(beside.glob(FAKE_FILE.format("*")), key=lambda path: path.stat().st_mtime)
        document = parsed(kept.read_bytes())
        return CloudRegion(str(document["cloud"]), str(document["region"]))
    return None


def is_fake(selection: str) -> bool:
    """Whether a cloud in this process is asked for."""
    return selection.partition(":")[0] == FAKE
