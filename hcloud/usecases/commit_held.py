"""What the cloud says is held, as the ``owned`` of a configuration, so that a plan uses it up before it buys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from hcloud.model.catalog import Provider
from hcloud.model.live import Commitment, Scope
from hcloud.planning.purchase import is_standing
from hcloud.readers.config import Loaded, OwnedSection
from hcloud.usecases.commit_ground import Where, opened


def owned_sections(held: Iterable[Commitment], scope: Scope, at: datetime) -> Iterator[OwnedSection]:
    """Each commitment of instances that stands and says when it ends; what is bound to no type cannot be stated so."""
    for found in held:
        if found.instance_type and found.count and found.ends and found.term_years and is_standing(found, at):
            yield OwnedSection(
                provider=Provider(scope.cloud),
                region=scope.region,
                instance_type=found.instance_type,
                option=found.option,
                term_years=3 if found.term_years == 3 else 1,
                payment=found.payment,
                count=Decimal(found.count),
                expires=found.ends.date(),
            )


def with_held(loaded: Loaded, where: Where, at: datetime) -> Loaded:
    """The configuration with what the cloud says is held as owned; unchanged where no cloud is named, or where a person
    has stated already what is owned there."""
    if where.cloud_in(loaded) is None:
        return loaded
    with opened(loaded, where, None, at.date()) as ground:
        scope, held = ground.live.ask(ground.cloud.scope), ground.live.ask(ground.cloud.commitments)
    if any((o.provider, o.region) == (scope.cloud, scope.region) for o in loaded.config.owned):
        return loaded
    owned = (*loaded.config.owned, *owned_sections(held, scope, at))
    return replace(loaded, config=loaded.config.model_copy(update={"owned": owned}))
