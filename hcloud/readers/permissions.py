"""The permissions that each cloud asks for hcloud's requests, read from the bundled tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from hcloud.model.catalog import CloudName
from hcloud.readers.bundle import bundled
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section, validated

Purpose = Literal["read", "launch", "terminate", "profile", "commitments", "buy", "cancel", "fetch"]
PURPOSES: tuple[Purpose, ...] = ("read", "launch", "terminate", "profile", "commitments", "buy", "cancel", "fetch")


class Permission(Section):
    """One permission: what it is for, what it can be limited to, and why it is needed. ``tagged`` ones are limited to
    machines with the state's own tag, ``when`` holds further conditions in the cloud's own words. ``given`` and
    ``unless`` name a setting of ``live.settings`` with which, or without which only, it is needed."""

    name: str
    purposes: tuple[Purpose, ...] = Field(alias="for")
    where: str
    why: str
    tagged: bool = False
    given: str = ""
    unless: str = ""
    when: dict[str, str] = Field(default_factory=dict)

    def is_needed(self, purposes: Collection[str], settings: Collection[str]) -> bool:
        """Whether one of these purposes takes it, with these settings made."""
        if self.unless in settings or (self.given and self.given not in settings):
            return False
        return bool(set(self.purposes) & set(purposes))


class PermissionTable(Section):
    """All permissions of one cloud."""

    format_version: Literal["1.0"]
    cloud: CloudName
    permissions: tuple[Permission, ...]
    document: dict[str, object]
    """The policy or role that the cloud takes; ``{permissions}`` and the like stand for what a plan puts there."""
    ends: str
    """How far the permission to end machines reaches, and how to narrow it by hand."""


def load_permissions(cloud: str) -> PermissionTable:
    """The table of a cloud; InputError where the installation lacks it."""
    path = bundled("policies") / "permissions" / f"{cloud}.yaml"
    return validated(PermissionTable, load_yaml(path.read_text(encoding="utf-8"), str(path)), str(path), "permissions")
