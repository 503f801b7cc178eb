"""``hcloud pricing``: list, show, diff, verify, import and refresh prices."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hcloud.cli.groups import Printed, Verb
from hcloud.cli.main import session
from hcloud.errors import UsageError

if TYPE_CHECKING:
    from hcloud.catalog.intake import Intake
    from hcloud.model.catalog import Provider

QUARANTINED = 9
SHOWN_ROWS = 200
# Named here because help must not import the readers; a test holds the list against theirs
FORMAT_NAMES = (
    "own-csv, two-columns, skypilot, labelled-text, aws-offer, azure-retail, gcp-skus, ec2instances, annual-cost, "
    "spot-average, cyclenerd"
)

app = Verb("Offers and their prices: list, show, refresh and import")


LimitOption = Annotated[int, typer.Option(min=1, help="Maximum number of rows in the table.")]
ProviderOption = Annotated[list[str] | None, typer.Option(help="aws, gcp or azure; may be repeated.")]
RegionOption = Annotated[list[str] | None, typer.Option(help="Region; may be repeated.")]
SystemOption = Annotated[list[str] | None, typer.Option("--os", help="Operating system; may be repeated.")]


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    provider: ProviderOption = None,
    region: RegionOption = None,
    family: Annotated[list[str] | None, typer.Option(help="Family pattern such as 'm6*'; may be repeated.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="on-demand, spot, reserved-instance, ...")] = None,
    os: SystemOption = None,
    limit: LimitOption = SHOWN_ROWS,
    shown: Printed,
) -> None:
    """List offers with hourly, upfront and effective price, discount against on-demand, and age."""
    from hcloud.usecases.prices.pricing import hidden_by_imports, list_prices, parse_filter
    from hcloud.views.prices import documents
    from hcloud.views.prices import pricing as view

    words = {"provider": provider, "region": region, "family": family, "option": option, "os": os}
    terminal, at = session(ctx).terminal, shown.at
    with terminal.busy("reading prices"):
        lines = list_prices(parse_filter({k: v or [] for k, v in words.items()}), at.date())
    shown.tell(
        terminal,
        lambda: documents.OffersDocument.of({"lines": lines}, at),
        lambda: view.show_listing(lines, terminal, limit),
        csv=lambda: view.listing_csv(lines),
    )
    if hidden := hidden_by_imports(lines):
        terminal.warn(hidden)


@app.command()
def show(
    ctx: typer.Context,
    *,
    instance_type: Annotated[str, typer.Argument(metavar="TYPE", help="For example m6i.large.")],
    provider: ProviderOption = None,
    region: RegionOption = None,
    os: SystemOption = None,
    shown: Printed,
) -> None:
    """Show every purchase option of one type with its break-even utilisation."""
    from hcloud.usecases.prices.pricing import hidden_by_imports, parse_filter, show_type
    from hcloud.views.prices import documents
    from hcloud.views.prices import pricing as view

    words = {"provider": provider, "region": region, "os": os or ["linux"]}
    terminal, at = session(ctx).terminal, shown.at
    with terminal.busy("reading prices"):
        screen = show_type(instance_type, parse_filter({k: v or [] for k, v in words.items()}), at.date())
    shown.tell(
        terminal,
        lambda: documents.OffersDocument.of(screen, at),
        lambda: view.show_type_screen(screen, terminal),
        csv=lambda: view.listing_csv(screen.lines),
    )
    if hidden := hidden_by_imports(screen.lines):
        terminal.warn(hidden)
    if others := screen.elsewhere:
        terminal.note(f"also sold in {', '.join(others[:8])}{' ...' if len(others) > 8 else ''} (--region)")


@app.command()
def diff(
    ctx: typer.Context,
    *,
    old: Annotated[str, typer.Argument(help="A price file, 'bundled' or 'user'.")],
    new: Annotated[str, typer.Argument(help="A price file, 'bundled' or 'user'.")],
    limit: LimitOption = SHOWN_ROWS,
    shown: Printed,
) -> None:
    """Compare two price books: what was added, removed and changed, in percent.

    'bundled' is what ships with hcloud, 'user' what you imported laid over it, as in hcloud.yaml. Of a book that is
    compared with a file, only what the file covers is looked at.
    """
    from hcloud.usecases.prices.intake import compare_named
    from hcloud.views.prices import documents
    from hcloud.views.prices import pricing as view

    terminal = session(ctx).terminal
    with terminal.busy("comparing prices"):
        comparison = compare_named(old, new)
    shown.tell(
        terminal,
        lambda: documents.PriceChangesDocument.of(comparison, shown.at),
        lambda: view.show_comparison(comparison, terminal, limit),
        csv=lambda: view.comparison_csv(comparison),
    )


@app.command()
def verify(ctx: typer.Context, *, shown: Printed) -> None:
    """Check the bundled files' checksums and the plausibility of prices; exit 9 on a finding."""
    from hcloud.usecases.prices.pricing import verify as verified
    from hcloud.views.prices import documents
    from hcloud.views.prices import pricing as view

    terminal = session(ctx).terminal
    with terminal.progress("checking prices", 1) as advance:
        result = verified(advance)
    shown.tell_result(terminal, result, documents.PriceCheckDocument.of, view.show_verification)
    if result.damaged or result.quarantined:
        raise typer.Exit(QUARANTINED)


@app.command("import")
def import_(
    ctx: typer.Context,
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Price files; gzip is unpacked.")],
    format_: Annotated[
        str | None, typer.Option("--format", help=f"Format (default: detected): {FORMAT_NAMES}.")
    ] = None,
    provider: Annotated[str | None, typer.Option(help="Import only this cloud.")] = None,
    region: Annotated[str | None, typer.Option(help="Import only this region.")] = None,
    day: Annotated[
        str | None, typer.Option("--date", help="The date of the prices (default: from the file's name).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 9 and store nothing if a row is quarantined.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only; store nothing.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Remove the prices stored before.")] = False,
    shown: Printed,
) -> None:
    """Import prices from files; shows and counts the rows it cannot use, and exits with 9 if it can use none."""
    from hcloud.usecases.prices.intake import Hints, IntakeMode, import_files

    hints = Hints(format_, _provider(provider), region or "", _day(day))
    terminal = session(ctx).terminal
    today = max(shown.at, datetime.now(UTC)).date()
    mode = IntakeMode(dry_run, strict, replace, today + timedelta(days=1))  # it is tomorrow somewhere
    with terminal.progress("reading prices", 1) as advance:
        intake = import_files(files, hints, advance, mode)
    _show_intake(ctx, intake, shown)
    if not any(source.book.offers for source in intake.sources) or (strict and intake.refused):
        raise typer.Exit(QUARANTINED)


@app.command()
def refresh(
    ctx: typer.Context,
    *,
    provider: Annotated[str, typer.Option(help="aws, gcp or azure.")],
    region: Annotated[str, typer.Option(help="The region to fetch.")],
    endpoint: Annotated[str | None, typer.Option(help="Use this URL instead of the provider's.")] = None,
    shown: Printed,
) -> None:
    """Fetch a region's published prices; if that fails, the stored ones stay."""
    from hcloud.usecases.prices.intake import RefreshTarget
    from hcloud.usecases.prices.intake import refresh as refreshed

    cloud = _provider(provider)
    if cloud is None:
        raise UsageError("--provider is needed")
    with session(ctx).terminal.progress(f"fetching {provider} {region}", 1) as advance:
        intake = refreshed(RefreshTarget(cloud, region, endpoint), shown.at, advance)
    _show_intake(ctx, intake, shown)


def _show_intake(ctx: typer.Context, intake: Intake, shown: Printed) -> None:
    from hcloud.views.prices import documents
    from hcloud.views.prices import pricing as view

    terminal = session(ctx).terminal
    shown.tell_result(terminal, intake, documents.IntakeDocument.of, view.show_intake)


def _provider(word: str | None) -> Provider | None:
    from hcloud.usecases.prices.pricing import parse_filter

    return None if word is None else parse_filter({"provider": [word]}).providers[0]


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date {text}: not a day, for example 2026-07-30") from None
