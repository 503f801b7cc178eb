"""Quality and accuracy as JSON documents and CSV, as they were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from hcloud import __version__
from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.model.report import FORMAT_VERSION
from hcloud.planning.reports.accuracy import ComparedFigure
from hcloud.planning.reports.quality import Quality
from hcloud.units import plain
from hcloud.views.escaped import Written, csv_document

if TYPE_CHECKING:
    from hcloud.planning.reports.accuracy import Accuracy
    from hcloud.planning.reports.quality import QualityReport

Document = Mapping[str, object]
DIGITS = 6  # ours: digits of measured shares and seconds
ERRORS = ("figure", "unit", "predicted", "low", "high", "actual", "error", "inside")
POINT = ("strategy", "reserve", "kept_qos", "batch_p5", "tail_p95", "wait_p95", "utilisation")


def quality_document(report: QualityReport, at: datetime) -> Document:
    """What jobs got or are predicted to get; what does not apply is null."""
    operation = report.operation
    predicted = [] if operation is None else [_point(operation.chosen), _point(operation.baseline)]
    return {
        **_head("quality", at),
        "source": report.name,
        "strategy": report.strategy,
        "groups": [_quality(g) for g in report.groups],
        "predicted": predicted,
        "notes": list(report.notes),
    }


def _head(kind: str, at: datetime) -> dict[str, object]:
    stamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {"format_version": FORMAT_VERSION, "tool_version": __version__, "generated_at": stamp, "report": kind}


def _quality(group: Quality) -> Document:
    return {f.name: _number(getattr(group, f.name)) for f in fields(group)}


def _number(value: object) -> object:
    return (round(value, DIGITS) if math.isfinite(value) else None) if isinstance(value, float) else value


def _point(point: OperatingPoint) -> Document:
    return {name: _band(getattr(point, name)) for name in POINT}


def _band(value: object) -> object:
    return {"mean": value.mean, "half": value.half} if isinstance(value, Band) else value


def accuracy_document(accuracy: Accuracy, at: datetime) -> Document:
    """Figures with their errors, and the effects in dollars an hour."""
    found = accuracy.effects
    return {
        **_head("accuracy", at),
        "currency": "USD",
        "plan": accuracy.plan,
        "source": accuracy.source,
        "hours": plain(accuracy.hours),
        "figures": [_compared(f) for f in accuracy.figures],
        "effects": {
            "predicted": plain(found.predicted),
            "price": plain(found.price),
            "volume": plain(found.volume),
            "volume_by_demand": _text(found.demand),
            "mix": plain(found.mix),
            "actual": plain(found.actual),
        },
        "notes": list(accuracy.notes),
    }


def _compared(figure: ComparedFigure) -> dict[str, object]:
    amounts = {name: _text(getattr(figure, name)) for name in ("predicted", "low", "high", "actual")}
    error = None if figure.error is None else _text(round(figure.error, DIGITS))
    return {"figure": figure.name, "unit": figure.unit, **amounts, "error": error, "inside": figure.inside}


def _text(value: Decimal | None) -> str | None:
    return None if value is None else plain(value)


def quality_csv(report: QualityReport) -> Written:
    """A row a group of jobs; of a plan a row a point."""
    if report.operation is not None:
        points = (report.operation.chosen, report.operation.baseline)
        rows = [[_cell(_mean(getattr(p, name))) for name in POINT] for p in points]
        return csv_document(POINT, rows)
    names = [f.name for f in fields(Quality)]
    return csv_document(names, [[_cell(_number(getattr(g, n))) for n in names] for g in report.groups])


def accuracy_csv(accuracy: Accuracy) -> Written:
    """A row a figure, then a row an effect."""
    rows: list[Sequence[str]] = [[_cell(_compared(f)[name]) for name in ERRORS] for f in accuracy.figures]
    for name in ("price", "volume", "mix"):
        rows.append([f"effect of {name}", "$/h", "", "", "", plain(getattr(accuracy.effects, name)), "", ""])
    return csv_document(ERRORS, rows)


def _mean(value: object) -> object:
    return value.mean if isinstance(value, Band) else value


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
