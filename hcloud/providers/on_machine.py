"""What a machine of a cloud can do by itself, in a shell and with its own role."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OnMachine:
    """``reads`` prints the secret ``{what}`` of ``{name}``; ``right`` is what that takes, which ``identity`` of the
    settings gives; ``tool`` is the program. ``taken`` defines a function of that name, which prints why the cloud is
    going to take the machine away, or nothing; it is empty where the cloud tells whoever asks it from elsewhere."""

    reads: str
    right: str
    identity: str
    tool: str
    taken: str = ""
