"""The idle hours that a plan is asked to run batch in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.usecases.deciding.idle_plan import FindIdle


@dataclass(frozen=True)
class HarvestAsked:
    """The idle hours that batch is to run in, as far as they are asked for."""

    util: str | None
    servers: Path | None
    keys: tuple[str, ...]
    policy: Path | None

    def refuse(self, *, strategy: str | None) -> None:
        """UsageError for words that say nothing without --util, and for what cannot be planned with it."""
        if self.util is None and (self.servers or self.keys or self.policy):
            raise UsageError(
                "--servers, --harvest-set and --harvest-policy say how --util is read", hint="add --util UTIL"
            )
        if self.util is not None and strategy:
            raise UsageError(
                f"--util with strategy {strategy}: a plan plays its idle hours with the strategy of its own fleet"
                " and chooses no other",
                hint="leave out --strategy (operation.strategy in hcloud.yaml); 'hcloud compare TRACE --harvest on,off"
                f" --util UTIL --strategy {strategy}' simulates it with idle hours and without",
            )

    @property
    def idle(self) -> FindIdle | None:
        """What services leave idle, where batch is to run in that."""
        if self.util is None:
            return None
        from hcloud.usecases.harvesting.idle import idle_hours
        from hcloud.usecases.harvesting.opened import UseRequest
        from hcloud.usecases.harvesting.planned import PlannedIdle

        asked = UseRequest(self.util, self.servers, keys=self.keys, policy=self.policy, given="--harvest-set")
        return PlannedIdle(idle_hours(asked))
