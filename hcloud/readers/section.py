"""What all sections of the configuration have in common."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails

from hcloud.errors import Problem, did_you_mean


class Section(BaseModel):
    """A section of the configuration: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def problem_of(file: str, detail: ErrorDetails, known: Sequence[str]) -> Problem:
    """What is wrong with one place of a file, with a did-you-mean among the ``known`` keys of that place."""
    where = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1)
        allowed = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known)}"
        return Problem(file, where, "unknown key", allowed)
    value, allowed = detail.get("input"), detail["msg"].removeprefix("Value error, ")
    if isinstance(value, str):
        allowed += did_you_mean(value, re.findall(r"'([^']+)'", str(detail.get("ctx", {}).get("expected", ""))))
    return Problem(file, where, repr(value)[:80], allowed)
