"""Tables that consoles offer beside bills: dollars by day or month, without the hours of machines."""

from __future__ import annotations

from hcloud.errors import InputError

_SUMMARIES = (
    (
        frozenset({"totalcosts"}),
        "a download of AWS Cost Explorer",
        "export the bill: Billing and Cost Management > Data Exports > Create > Standard data export, CUR 2.0, hourly,"
        " with resource IDs; a day later 'hcloud plan s3://BUCKET/PREFIX' reads it. 'hcloud workload fetch' asks Cost"
        " Explorer for the hours of the last days meanwhile",
    ),
    (
        frozenset({"costusd", "currency"}),
        "a download of Azure's cost analysis",
        "export the bill: Cost Management > Exports > Create, cost and usage details (amortized), daily export of"
        " month-to-date costs; for earlier months run it once for each",
    ),
    (
        frozenset({"unroundedsubtotal"}),
        "a table of Google's billing reports",
        "export the bill: Billing > Billing export > BigQuery export, detailed usage cost; then save the table of it as"
        " JSON lines, Parquet or CSV",
    ),
)
"""The columns, as :func:`hcloud.readers.bills.lines.plain` spells them, what they are of, and what to export."""


def refuse_summary(name: str, columns: frozenset[str]) -> None:
    """InputError for a table of sums, with the export that has what it lacks."""
    for marks, what, hint in _SUMMARIES:
        if marks <= columns:
            raise InputError(
                f"{name}: is {what}: it has dollars, not which machine ran in which hour and region", hint=hint
            )
