"""Slurm's own commands, each with a time limit: what they answer, and what it means when they do not."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from hcloud.errors import Call, CloudError, NotFoundError, RefusedError, UnavailableError, UnknownOutcomeError
from hcloud.providers.slurm.answers import AnswerError, SlurmJob, SlurmNode, jobs_of, nodes_of

ASK_SECONDS = 5.0  # ours: squeue of a busy slurmctld took 0.25 s; its own patience is 9 s and more
SHOWS_NODES_SINCE = (23, 2)
"""From here on ``scontrol --json`` tells nodes, and ``sinfo --json`` groups of them."""
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin"
_Told = TypeVar("_Told")
_VERSION = re.compile(r"(\d+)\.(\d+)")
_NO_ANSWER = (
    "Unable to contact slurm controller",
    "Unexpected message received",  # of a change: so scontrol says, too, that no answer came within MessageTimeout
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Connection refused",
    "slurm_load",
    "Protocol authentication error",
    "Communication connection failure",
)
_NOT_NOW = "Job update not available right now"
"""Five seconds after it was asked to change a job that runs; where slurmctld has no database, again and again."""
_GONE = ("Invalid job id", "Invalid node name", "Job/step already completing or completed", "Node not found")


@dataclass(frozen=True)
class SlurmCommands:
    """Where Slurm's commands find their cluster: ``conf`` is its slurm.conf (None: as the commands find it), ``path``
    where they are. slurmctld starts programs without PATH and HOME, so neither is taken for granted."""

    conf: Path | None = None
    path: str = field(default_factory=lambda: os.environ.get("PATH") or SEARCHED)
    seconds: float = ASK_SECONDS

    def jobs(self) -> tuple[SlurmJob, ...]:
        """All jobs that slurmctld knows, ended ones as long as it keeps them."""
        return self._read(["squeue", "--json"], jobs_of)

    def nodes(self) -> tuple[SlurmNode, ...]:
        """All nodes, also those that are powered down where slurm.conf says PrivateData=cloud."""
        since = self.version >= SHOWS_NODES_SINCE
        return self._read(["scontrol", "show", "nodes", "--json"] if since else ["sinfo", "--json"], nodes_of)

    def update_job(self, job: str, **values: str) -> None:
        """Change a job that has not ended."""
        self._change("update-job", ["update", f"jobid={job}", *(f"{k}={v}" for k, v in values.items())])

    def release(self, job: str) -> None:
        """Let Slurm run a held job."""
        self._change("release", ["release", job])

    def hold(self, job: str) -> None:
        """Keep a waiting job from running."""
        self._change("hold", ["uhold", job])

    def requeue_held(self, job: str) -> None:
        """End a running job; it waits again, held."""
        self._change("requeue", ["requeuehold", job])

    def cancel(self, job: str) -> None:
        """End a job, or take it out of the queue."""
        self._change("cancel", [job], command="scancel")

    def update_node(self, node: str, **values: str) -> None:
        """Change what Slurm knows of a node."""
        self._change("update-node", ["update", f"nodename={node}", *(f"{k}={v}" for k, v in values.items())])

    def settings(self) -> Mapping[str, str]:
        """What slurmctld runs with (``scontrol show config``), names in small letters."""
        lines = (line.partition("=") for line in self._ask(["scontrol", "show", "config"], "settings").splitlines())
        return {name.strip().lower(): value.strip() for name, sign, value in lines if sign}

    def partition(self, name: str) -> Mapping[str, str]:
        """A partition's fields as ``scontrol show partition`` writes them; empty where there is none."""
        try:
            said = self._ask(["scontrol", "-o", "show", "partition", name], "show-partition")
        except (NotFoundError, RefusedError):
            return {}
        return dict(word.split("=", 1) for word in said.split() if "=" in word)

    def hostnames(self, listed: str) -> tuple[str, ...]:
        """The names that a list of Slurm's stands for (hc-small-[0-3,7])."""
        return tuple(self._ask(["scontrol", "show", "hostnames", listed], "hostnames").split())

    @cached_property
    def version(self) -> tuple[int, int]:
        """The version of the commands, as (22, 5)."""
        said = self._run(["scontrol", "--version"], "version").stdout
        found = _VERSION.search(said)
        if found is None:
            raise UnavailableError(f"scontrol --version says {said.strip()!r}", _call("version"))
        return int(found[1]), int(found[2])

    def _read(self, words: Sequence[str], parse: Callable[[str], _Told]) -> _Told:
        said = self._ask(words, words[0])
        try:
            return parse(said)
        except AnswerError as error:
            raise UnavailableError(f"{' '.join(words)}: {error}", _call(words[0])) from None

    def _ask(self, words: Sequence[str], operation: str) -> str:
        done = self._run(words, operation)
        if done.returncode:
            raise _meaning(done.stderr or done.stdout, operation, UnavailableError)
        return done.stdout

    def _change(self, operation: str, words: Sequence[str], command: str = "scontrol") -> None:
        """What did not answer may have been done all the same: the next look tells."""
        try:
            done = self._run([command, *words], operation)
        except UnavailableError as error:
            raise UnknownOutcomeError("no answer; it may have been done", error.call, hint=error.hint) from error
        if done.returncode:
            raise _meaning(done.stderr or done.stdout, operation, UnknownOutcomeError)

    def _run(self, words: Sequence[str], operation: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.seconds,
                env=self._environment(),
                check=False,
            )
        except FileNotFoundError:
            raise UnavailableError(f"{words[0]} is not installed", _call(operation), hint=HOW_TO_INSTALL) from None
        except subprocess.TimeoutExpired:
            why = f"{words[0]} did not answer within {self.seconds:g} s"
            raise UnavailableError(why, _call(operation), hint=HOW_TO_REACH) from None

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith("SLURM_CONF")}
        conf = {} if self.conf is None else {"SLURM_CONF": str(self.conf)}
        return {"PATH": self.path, "LANG": "C.UTF-8", "TZ": "UTC", **kept, **conf}


HOW_TO_INSTALL = "on Debian and Ubuntu: apt-get install slurm-wlm munge"
HOW_TO_REACH = "check with 'scontrol ping' that slurmctld is running"


def _call(operation: str) -> Call:
    return Call("slurm", "cluster", operation)


def _meaning(said: str, operation: str, silent: type[CloudError]) -> CloudError:
    """What a failed command says: no answer, nothing of that name, or a refusal."""
    words = " ".join(said.split()) or "no words"
    if any(part in words for part in _NO_ANSWER):
        return silent(words, _call(operation), hint=HOW_TO_REACH)
    if _NOT_NOW in words:
        return silent(words, _call(operation))
    if any(part in words for part in _GONE):
        return NotFoundError(words, _call(operation))
    return RefusedError(words, _call(operation))
