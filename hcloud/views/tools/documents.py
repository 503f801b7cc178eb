"""What validate and doctor checked as a JSON document."""

from __future__ import annotations

from typing import Annotated

from hcloud.model.checks import CheckStatus
from hcloud.views.document import ITSELF, Document, NoText, Part, Text, choice_of


class _Check(Part):
    name: Text
    status: Annotated[Text, choice_of(CheckStatus)]
    message: Text
    details: list[Text]
    hint: NoText


class ChecksDocument(Document, title="hcloud validate and doctor"):
    """The checks."""

    checks: Annotated[list[_Check], ITSELF]
