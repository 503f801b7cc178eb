"""What a person changes in the fake account behind hcloud's back."""

from __future__ import annotations

from collections.abc import Mapping

from hcloud.fake.aws.machines import end
from hcloud.fake.aws.world import World
from hcloud.fake.ledger import Rented

HOME = "us-east-1"


def edited(world: World, change: Mapping[str, object]) -> dict[str, object]:
    """Carry out a change and say what was done; a machine that there is not is said so."""
    if "launch" in change:
        made = _made(world, change)
        world.ledger.machines[made.id] = made
        return {"launched": made.id}
    for what, act in _ACTS.items():
        machine = world.ledger.machines.get(str(change.get(what, "")))
        if machine is not None:
            act(world, machine, change)
            return {what: machine.id}
    return {"error": "there is no such machine or change"}


def _terminate(world: World, machine: Rented, change: Mapping[str, object]) -> None:
    end(world, machine, world.clock.now(), "User initiated")


def _retag(world: World, machine: Rented, change: Mapping[str, object]) -> None:
    machine.tags = _tags(change)


def _resize(world: World, machine: Rented, change: Mapping[str, object]) -> None:
    machine.instance_type = str(change["type"])


def _stop(world: World, machine: Rented, change: Mapping[str, object]) -> None:
    machine.detail["stopped"] = True


def _keep(world: World, machine: Rented, change: Mapping[str, object]) -> None:
    machine.detail["kept"] = True


_ACTS = {"terminate": _terminate, "retag": _retag, "resize": _resize, "stop": _stop, "keep": _keep}


def _tags(change: Mapping[str, object]) -> dict[str, str]:
    given = change.get("tags")
    return {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}


def _made(world: World, change: Mapping[str, object]) -> Rented:
    now, number = world.clock.now(), world.ledger.next_number()
    zone = str(change.get("zone") or world.shop.zones(str(change.get("region", HOME)))[0])
    return Rented(
        id=f"i-{number:017x}",
        instance_type=str(change["launch"]),
        zone=zone,
        spot=False,
        tags=_tags(change),
        token="",
        principal="person",
        made_at=now,
        visible_at=now,
        tagged_at=now,
        running_at=now,
        detail={"image": "ami-00000000", "reservation": f"r-{number:017x}", "start_up": ""},
    )
