"""Explanations as JSON documents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from hcloud.views.document import Document, From, Part, Text


class _ReasonLine(Part):
    about: Text
    clauses: Annotated[list[Text], Field(min_length=1)]


class AnswerDocument(Document, title="hcloud explain --why-not"):
    """An answer, and the figures that it was made from under ``facts``."""

    question: Annotated[Text, From("made.question")]
    answer: Annotated[Text, From("made.answer")]
    lines: Annotated[list[_ReasonLine], From("made.said")]
    facts: Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
