"""What the cloud says is held, as the ``owned`` of a configuration, so that a plan uses it up before it buys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from hcloud.errors import DeniedError
from hcloud.live.patience import Limits, Patience
from hcloud.model.catalog import Provider
from hcloud.model.live import Commitment, Scope
from hcloud.planning.purchase import is_standing
from hcloud.readers.config import Loaded, OwnedSection
from hcloud.usecases.live_ground import LiveGround


def with_held(ground: LiveGround, at: datetime) -> tuple[Loaded, tuple[str, ...]]:
    """The configuration with what the cloud says is held as owned, and what should be said about it.

    It stays as it is where a person has stated what is owned there, and where these credentials may not look. What the
    price book knows no price of cannot be planned with, and is told.
    """
    loaded, asking = ground.loaded, Patience(ground.clock, Limits(), lambda: False)
    place = (ground.place.provider, ground.place.region)
    if any((o.provider, o.region) == place for o in loaded.config.owned):
        return loaded, ()
    try:
        scope, held = asking.ask(ground.cloud.scope), asking.ask(ground.cloud.commitments)
    except DeniedError as error:
        return loaded, (f"what is held already could not be read, and is not counted: {error}",)
    found = tuple(owned_sections(held, scope, at))
    known = tuple(o for o in found if o.key in ground.book.offers)
    strange = sorted({str(o.key) for o in found if o not in known})
    said = tuple(f"{key} is held and the price book has no price of it: it is not counted" for key in strange)
    config = loaded.config.model_copy(update={"owned": (*loaded.config.owned, *known)})
    return replace(loaded, config=config), said


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
