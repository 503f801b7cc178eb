"""Where machines of this machine are noted, and which types there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hcloud.control.ports import Size

REGION = ZONE = "local"
TYPES: Mapping[str, Size] = {"small": Size(1, 1.0), "medium": Size(2, 2.0), "large": Size(4, 4.0)}


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """``directory`` holds one file a machine. ``capacity`` is how much there is for all of them; None: what this
    machine has. ``account`` names it: processes of another machine are not seen here."""

    directory: Path
    capacity: Size | None = None
    zones: tuple[str, ...] = (ZONE,)
    account: str = os.uname().nodename.lower()
