"""What all sections of the configuration have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of the configuration: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
