"""What a person changes in the fake account behind hcloud's back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hcloud.fake.aws.ec2.machines import by_user, end
from hcloud.fake.aws.ec2.references import PUBLIC_IMAGE
from hcloud.fake.aws.world import AwsWorld
from hcloud.fake.ledger import Rented
from hcloud.fake.world import NewMachine


def edited(world: AwsWorld, change: Mapping[str, object]) -> dict[str, object]:
    """Carry out a change and say what was done; a machine that there is not is said so."""
    if "launch" in change:
        return {"launched": _made(world, change).id}
    for what, act in _ACTS.items():
        machine = world.ledger.machines.get(str(change.get(what, "")))
        if machine is not None:
            act(world, machine, change)
            return {what: machine.id}
    return {"error": "there is no such machine or change"}


_ACTS: Mapping[str, Callable[[AwsWorld, Rented, Mapping[str, object]], None]] = {
    "terminate": lambda world, machine, _: end(world, machine, world.clock.now(), by_user(world.clock.now())),
    "retag": lambda _, machine, change: setattr(machine, "tags", _tags(change)),
    "resize": lambda _, machine, change: setattr(machine, "instance_type", str(change["type"])),
    "stop": lambda _, machine, __: machine.detail.update(stopped=True),
    "keep": lambda _, machine, __: machine.detail.update(kept=True),
}


def _tags(change: Mapping[str, object]) -> dict[str, str]:
    given = change.get("tags")
    return {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}


def _made(world: AwsWorld, change: Mapping[str, object]) -> Rented:
    number = world.ledger.next_number()
    zone = str(change.get("zone") or world.shop.zones(str(change.get("region", world.home)))[0])
    detail: dict[str, object] = {"image": PUBLIC_IMAGE, "reservation": f"r-{number:017x}", "start_up": ""}
    kind, tags = str(change["launch"]), _tags(change)
    return world.rent(NewMachine(f"i-{number:017x}", kind, zone, False, tags, "", "person", detail, at_once=True))
