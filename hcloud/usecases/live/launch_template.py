"""What a plan launches machines with: looked up when it is made, compared with the configuration when it is applied."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hcloud.errors import FileError, InputError, StaleError
from hcloud.model.files import no_such_file
from hcloud.model.holdings.live import TAG_LINEAGE, TAG_PROJECT, LaunchTemplate
from hcloud.planning.changes.launched_with import departures
from hcloud.planning.changes.standing import open_launches
from hcloud.store.files.looked_at import kind_at

if TYPE_CHECKING:
    from hcloud.control.ports import Compute
    from hcloud.model.holdings.change import ChangeSet, Observed
    from hcloud.model.holdings.state import State
    from hcloud.readers.configuration.config import Loaded

LARGEST_USER_DATA = 16 * 1024
"""Bytes: what EC2 takes, the least of the three."""


def user_data(loaded: Loaded) -> str:
    """The user data that the configuration names; InputError where the file cannot be that."""
    named = loaded.config.live.user_data
    if named is None:
        return ""
    path = loaded.resolve(named)
    try:
        if not path.is_file():
            hint = "live.user_data of hcloud.yaml names it"
            raise no_such_file(str(path), "a file of user data", (kind_at(path), []), hint)
        with path.open("rb") as file:
            data = file.read(LARGEST_USER_DATA + 1)
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    if len(data) > LARGEST_USER_DATA:
        raise InputError(f"{path}: user data has {LARGEST_USER_DATA} bytes at most", hint="let it fetch the rest")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: user data is text in UTF-8") from None


def looked_up(cloud: Compute, template: LaunchTemplate) -> LaunchTemplate:
    """The template with the ids that the names of its images stand for now; reads only."""
    return replace(template, images=tuple(replace(i, id=cloud.image(i.name)) for i in template.images))


def configured(loaded: Loaded, cloud: Compute, instance_types: Iterable[str], lineage: str) -> LaunchTemplate:
    """What machines of these types are launched with by the configuration as it is now; images by name."""
    data = user_data(loaded).encode()
    found = without_user_data(loaded, cloud, instance_types, lineage)
    return replace(found, user_data=hashlib.sha256(data).hexdigest() if data else "")


def without_user_data(loaded: Loaded, cloud: Compute, instance_types: Iterable[str], lineage: str) -> LaunchTemplate:
    """The same for machines that start with a script of their own."""
    tags = {TAG_LINEAGE: lineage, TAG_PROJECT: loaded.config.live.project}
    return replace(cloud.template(sorted(set(instance_types))), tags=tags)


def types_coming(found: ChangeSet) -> tuple[str, ...]:
    """Every type that applying these changes may launch."""
    coming = {c.address for c in found.to_do if c.count}
    return tuple(sorted({s.instance_type for slot in found.slots if slot.address in coming for s in slot.shapes}))


def with_types(
    loaded: Loaded, cloud: Compute, template: LaunchTemplate, instance_types: Iterable[str]
) -> LaunchTemplate:
    """The template with the images of these types, too: one that it names keeps its id, another is looked up."""
    more = set(instance_types).difference(*(image.instance_types for image in template.images))
    found = {image.name: image for image in template.images}
    for image in configured(loaded, cloud, more, "").images if more else ():
        known = found.get(image.name) or replace(image, id=cloud.image(image.name), instance_types=())
        types = tuple(sorted({*known.instance_types, *image.instance_types}))
        found[image.name] = replace(known, instance_types=types)
    return replace(template, images=tuple(found[name] for name in sorted(found)))


def ordered_otherwise(observed: Observed, template: LaunchTemplate | None) -> Iterator[str]:
    """What is to be said of orders that are asked again: they are as they were noted, whatever is set now."""
    for intent, owed in open_launches(observed):
        then = intent.order.template if intent.order else None
        if intent.order is None or not owed or then is None or template is None:
            continue
        if differs := departures(then, template):
            named = "; ".join(f"{d.setting}: {d.planned}" for d in differs)
            yield f"{intent.order.address}: requests that are repeated keep the settings of the first order ({named})"


def check_project(loaded: Loaded, state: State | None) -> None:
    """Refuse to plan machines of another project than the one that the state's machines are tagged with."""
    here = loaded.config.live.project
    if state is not None and state.project not in ("", here):
        raise StaleError(
            f"the state belongs to project {state.project}, and live.project is {here}",
            hint=f"set live.project to {state.project}, or name another state with --state",
        )


def launch_differences(loaded: Loaded, cloud: Compute, found: ChangeSet) -> Iterator[str]:
    """How what a plan launches machines with differs from what the configuration says now; StaleError where the plan
    does not say what it launches with."""
    if not found.coming:
        return
    planned = found.template
    if planned is None:
        raise StaleError(
            "the plan has no launch settings: it was made when nothing had to be launched",
            hint="plan again",
        )
    types = {t for image in planned.images for t in image.instance_types} or set(types_coming(found))
    now = configured(loaded, cloud, types, found.base.lineage)
    yield from map(str, departures(planned, now))
