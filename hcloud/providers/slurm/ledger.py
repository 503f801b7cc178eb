"""What outlasts a crash beside Slurm's own state: which machine has which node name, and which job may begin.

A job that may begin has a ticket. slurmctld's prolog moves it to the begun ones before it launches the job, in one
step of the file system, so that no job takes it twice, whatever slurmctld forgot.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TypeVar

from hcloud.errors import InputError
from hcloud.model.json_text import parsed
from hcloud.providers.slurm.site import SlurmSite
from hcloud.whole_files import sync_directory, whole_file

Kept = TypeVar("Kept", "NodeClaim", "Begin")


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """A machine has a node name. ``asked`` is when the slurmctld started that was asked to expect it (its words),
    ``joined`` that the machine was ready once, ``released`` that it is being ended."""

    node: str
    instance: int
    type_name: str
    asked: str = ""
    joined: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """An attempt of a job may begin on a machine. ``restarts`` is how often Slurm had started the job anew before,
    ``submit`` when the job was submitted (Slurm may use a number again), ``stopped`` that the attempt was ended by
    hcloud, ``at`` when it was let begin."""

    job: str
    attempt: int
    node: str
    instance: int
    restarts: int = 0
    submit: float = 0.0
    at: float = 0.0
    stopped: bool = False


class NodeLedger:
    """The folder of a site: one writer beside slurmctld's prolog; may be used from many threads."""

    def __init__(self, site: SlurmSite) -> None:
        self._site = site
        self._held = threading.RLock()
        for folder in (site.claims, site.tickets, site.begun):
            folder.mkdir(parents=True, exist_ok=True)
        self._claims = {claim.instance: claim for claim in _all(site.claims, NodeClaim)}
        self._begins = {begin.job: begin for begin in _all(site.begun, Begin)}
        self._begins |= {begin.job: begin for begin in _all(site.tickets, Begin)}

    def claims(self) -> tuple[NodeClaim, ...]:
        """All machines that have a node name."""
        with self._held:
            return tuple(self._claims.values())

    def claim(self, instance: int) -> NodeClaim | None:
        return self._claims.get(instance)

    def take(self, instance: int, type_name: str, names: tuple[str, ...]) -> NodeClaim | None:
        """Give a machine one of these node names, the same again where it has one; None where none is free. Machines
        take turns, so that a name rests as long as it can before it is used again."""
        with self._held:
            known = self._claims.get(instance)
            if known is not None and not known.released:
                return known if known.joined else self.note(replace(known, asked=""))
            taken = {claim.node for claim in self._claims.values()}
            first = instance % len(names) if names else 0
            turns = (*names[first:], *names[:first])
            free = next((n for n in turns if n not in taken), None if known is None else known.node)
            if free is None:
                return None
            if known is not None:
                self.drop(known)
            return self.note(NodeClaim(free, instance, type_name))

    def note(self, claim: NodeClaim) -> NodeClaim:
        with self._held:
            _write(self._site.claims / claim.node, claim)
            self._claims[claim.instance] = claim
            return claim

    def drop(self, claim: NodeClaim) -> None:
        """A node name is free again."""
        with self._held:
            (self._site.claims / claim.node).unlink(missing_ok=True)
            self._claims.pop(claim.instance, None)

    def begins(self) -> Mapping[str, Begin]:
        """The last attempt of each job that was let begin, by job."""
        with self._held:
            return dict(self._begins)

    def began(self) -> frozenset[str]:
        """The jobs that took the ticket of their last attempt. Each is asked for by its name: a list of a folder may
        leave out a file that is moved meanwhile."""
        with self._held:
            known = tuple(self._begins)
        return frozenset(job for job in known if self._has_begun(job))

    def _has_begun(self, job: str) -> bool:
        return not (self._site.tickets / job).exists() and (self._site.begun / job).exists()

    def permit(self, begin: Begin) -> None:
        """Leave a job its ticket; returns when that outlasts a crash."""
        with self._held:
            _write(self._site.tickets / begin.job, begin)
            self._begins[begin.job] = begin

    def withdraw(self, job: str) -> None:
        """Take a ticket back; where the job was quicker, nothing happens. Either way it does not begin any more."""
        with self._held:
            begin = replace(self._begins[job], stopped=True)
            _write(self._site.begun / job, begin)
            (self._site.tickets / job).unlink(missing_ok=True)
            self._begins[job] = begin

    def forget(self, job: str) -> None:
        """Nobody asks about this job again."""
        with self._held:
            for folder in (self._site.tickets, self._site.begun):
                (folder / job).unlink(missing_ok=True)
            self._begins.pop(job, None)


def has_machine(site: SlurmSite, node: str) -> bool:
    """Whether a machine has a node name now; for other processes than the controller's."""
    try:
        return not _read(site.claims / node, NodeClaim).released
    except FileNotFoundError:
        return False


def _all(folder: Path, kind: type[Kept]) -> Iterator[Kept]:
    yield from (_read(path, kind) for path in sorted(folder.iterdir()) if not path.name.startswith("."))


def _read(path: Path, kind: type[Kept]) -> Kept:
    try:
        known = {field.name for field in fields(kind)}
        return kind(**{name: value for name, value in parsed(path.read_text()).items() if name in known})
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read: {error}", hint="'hcloud slurm check' says what to do") from error


def _write(path: Path, value: NodeClaim | Begin) -> None:
    with whole_file(path) as file:
        file.write(json.dumps(asdict(value), sort_keys=True).encode())
    sync_directory(path.parent)
