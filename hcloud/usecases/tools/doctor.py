"""``hcloud doctor``: what this installation consists of, what is missing from it and what stands in its way."""

from __future__ import annotations

import csv
import email.utils
import http.client
import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from hcloud import __version__
from hcloud.errors import CloudError, CredentialsError, HcloudError
from hcloud.installation import DISTRIBUTION, install_command
from hcloud.model.catalog import Provider, PurchaseOption, refresh_command
from hcloud.model.checks import CheckResult, CheckStatus, guarded
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Quota, Scope
from hcloud.readers.bundle import bundled
from hcloud.readers.configuration.config import FILE_NAME, load_config
from hcloud.readers.prices.shipped.manifest import MANIFEST, manifest_text
from hcloud.readers.strategies import STRATEGIES, load_strategy
from hcloud.store.prices import PriceStore
from hcloud.units import counted, format_age
from hcloud.usecases.extras import EXTRAS, version_of
from hcloud.usecases.live.connect import FAKE
from hcloud.usecases.live.ground import LiveGround

FOREIGN = "hcloud"
OLDEST_PYTHON = (3, 11)
FOR_WHAT = {
    **{str(cloud.name): f"act on {cloud.maker}" for cloud in CLOUDS.values()},
    "fake": "rehearse against fake clouds",
    "dask": "spread a sweep over a cluster",
    "notebook": "work with DataFrames in a notebook",
}
_OURS = b"hcloud.__main__"


def examine(today: date) -> tuple[CheckResult, ...]:
    """Every check of the installation; none of them reaches the network."""
    return (
        _python(),
        _version(),
        *(_extra(name) for name in EXTRAS),
        _package_clash(),
        _binary_clash(),
        guarded("configuration", _configuration),
        guarded("bundled prices", lambda: _bundled_prices(today)),
        guarded("own prices", lambda: _own_prices(today)),
        guarded("strategies", _strategies),
    )


def _python() -> CheckResult:
    message = f"{platform.python_version()} ({platform.python_implementation()}) at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return CheckResult("python", CheckStatus.ERROR, message, hint="hcloud needs Python 3.11 or newer")
    return CheckResult("python", CheckStatus.OK, message)


def _version() -> CheckResult:
    here = Path(__file__).resolve().parents[2]
    installed = version_of(DISTRIBUTION)
    if installed is None:
        why = f"{__version__} at {here}, not installed as a package"
        return CheckResult("hcloud", CheckStatus.WARNING, why, hint=install_command())
    if installed != __version__:
        why = f"{__version__} at {here}, but {DISTRIBUTION} {installed} is installed"
        return CheckResult(
            "hcloud", CheckStatus.WARNING, why, hint="another copy comes first on PYTHONPATH, or install anew"
        )
    return CheckResult("hcloud", CheckStatus.OK, f"{__version__} at {here}")


def _extra(name: str) -> CheckResult:
    missing = [package for package in EXTRAS[name] if version_of(package) is None]
    if missing:
        why = f"not installed ({', '.join(missing)}); needed only to {FOR_WHAT[name]}"
        return CheckResult(f"[{name}]", CheckStatus.SKIPPED, why, hint=install_command(name))
    return CheckResult(f"[{name}]", CheckStatus.OK, ", ".join(f"{p} {version_of(p)}" for p in EXTRAS[name]))


def _package_clash() -> CheckResult:
    """Hetzner's client library has the same import name: whichever was installed last overwrote files of the other."""
    version = version_of(FOREIGN)
    if version is None:
        return CheckResult("package", CheckStatus.OK, "no other package claims the import name hcloud")
    return CheckResult(
        "package",
        CheckStatus.WARNING,
        f"Hetzner's package hcloud {version} is installed here too and has the same import name",
        hint=f"give each its own virtual environment, then {install_command()}",
    )


def _binary_clash() -> CheckResult:
    """Which hcloud a shell would start: ours, or for example Hetzner's."""
    found = list(_on_path("hcloud"))
    foreign = [path for path in found if not _is_ours(path)]
    if not found:
        return CheckResult("command", CheckStatus.OK, "no hcloud on PATH; 'python -m hcloud' works everywhere")
    if foreign and found[0] in foreign:
        return CheckResult(
            "command",
            CheckStatus.WARNING,
            f"{found[0]} is another hcloud and comes first on PATH",
            hint="call ours hyc",
        )
    details = tuple(f"another hcloud comes later on PATH: {path}" for path in foreign)
    return CheckResult("command", CheckStatus.OK, f"{found[0]} is this hcloud", details)


def _on_path(command: str) -> Iterator[Path]:
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(directory or ".") / command
        if path.is_file() and os.access(path, os.X_OK):
            yield path


def _is_ours(path: Path) -> bool:
    """Whether a command starts this package: installers write a few lines that import it."""
    try:
        with path.open("rb") as file:
            return _OURS in file.read(4096)
    except OSError:
        return False


def _configuration() -> CheckResult:
    loaded = load_config()
    if not loaded.files:
        return CheckResult(
            "configuration", CheckStatus.OK, f"none ({FILE_NAME} here is optional)", hint="'hcloud init' writes one"
        )
    return CheckResult("configuration", CheckStatus.OK, ", ".join(map(str, loaded.files)))


def _bundled_prices(today: date) -> CheckResult:
    root = bundled("pricing")
    stated = (root / MANIFEST).read_text(encoding="utf-8")
    rows = list(csv.DictReader(stated.splitlines()))
    days = sorted(day for row in rows for day in row["date"].split(".."))
    newest, oldest = (date.fromisoformat(days[index]) for index in (-1, 0))
    ages = f"newest {format_age((today - newest).days)}, oldest {format_age((today - oldest).days)}"
    message = f"{counted(len(rows), 'table')} at {root}, {ages}"
    if stated.replace("\r\n", "\n") != manifest_text(root):
        why = "a table does not match the manifest"
        return CheckResult(
            "bundled prices", CheckStatus.WARNING, message, (why,), "'hcloud pricing verify' shows which"
        )
    return CheckResult("bundled prices", CheckStatus.OK, message)


def _own_prices(today: date) -> CheckResult:
    store = PriceStore.open()
    book = store.load()
    if book is None:
        return CheckResult("own prices", CheckStatus.OK, f"none yet; they will be kept at {store.directory}")
    days = [(today - offer.origin.day).days for offer in book.offers.values()]
    ages = f", newest {format_age(min(days))}, oldest {format_age(max(days))}" if days else ""
    return CheckResult("own prices", CheckStatus.OK, f"{counted(len(book.offers), 'offer')} at {store.directory}{ages}")


def _strategies() -> CheckResult:
    names = STRATEGIES
    for name in names:
        load_strategy(name)
    if not names:
        raise HcloudError("no strategy files came with this installation", hint=install_command())
    return CheckResult("strategies", CheckStatus.OK, f"{', '.join(names)} at {bundled('policies')}")


PATIENCE_SECONDS = 10.0  # ours: a machine that is busy takes seconds to ask
MOST_SKEW_SECONDS = 60.0  # ours; signatures are refused from five minutes on
OLDEST_PRICE_DAYS = 30  # conventions: for apply and commit
NEEDED = ("credentials", "machines")
"""Without these nothing on a cloud works, for whatever reason they cannot be had."""


def examine_cloud(ground: LiveGround) -> Iterator[CheckResult]:
    """Checks that only read; where the credentials do not hold, nothing after them is asked."""
    try:
        scope = ground.patience().ask(ground.cloud.scope)
    except HcloudError as error:
        yield _failed("credentials", error, "plan --cloud, apply, commit and everything else on this cloud")
        yield _clock(ground)
        return
    yield CheckResult("credentials", CheckStatus.OK, str(scope))
    yield _account(ground, scope)
    yield _clock(ground)
    yield _asked("machines", lambda: _machines(ground), "no 'plan --cloud' and no 'apply'")
    yield _asked("commitments", lambda: _commitments(ground), "plans ignore existing commitments")
    yield from _quotas(ground)
    yield _prices(ground)


def _account(ground: LiveGround, scope: Scope) -> CheckResult:
    wanted = ground.loaded.config.live.account
    if wanted is None:
        return CheckResult(
            "account", CheckStatus.OK, "any: live.account would refuse others", hint=f"live.account: {scope.account}"
        )
    if wanted != scope.account:
        return CheckResult(
            "account", CheckStatus.ERROR, f"live.account is {wanted}, these credentials belong to {scope.account}"
        )
    return CheckResult("account", CheckStatus.OK, f"{scope.account}, as live.account says")


def _asked(name: str, ask: Callable[[], str], without: str) -> CheckResult:
    try:
        return CheckResult(name, CheckStatus.OK, ask())
    except HcloudError as error:
        return _failed(name, error, without)


def _failed(name: str, error: HcloudError, without: str) -> CheckResult:
    status = CheckStatus.ERROR if isinstance(error, CredentialsError) or name in NEEDED else CheckStatus.WARNING
    code = error.call.code if isinstance(error, CloudError) else ""
    hint = error.hint or ("hcloud iam print shows the permissions" if code else "")
    return CheckResult(name, status, str(error), (f"without it: {without}",), hint)


def _machines(ground: LiveGround) -> str:
    seen = [m for m in ground.patience().ask(lambda: ground.cloud.machines("")) if m.state.is_live]
    return f"{len(seen)} with an hcloud tag are visible"


def _commitments(ground: LiveGround) -> str:
    held = [c for c in ground.patience().ask(ground.cloud.commitments) if c.state in ("active", "pending", "queued")]
    return f"{len(held)} held"


def _quotas(ground: LiveGround) -> Iterator[CheckResult]:
    types = sorted({section.instance_type for section in ground.loaded.config.fleet})
    seen: dict[str, Quota] = {}
    for name in types:
        try:
            quotas = ground.patience().ask(partial(ground.cloud.quotas, name))
            seen |= {quota.name: quota for quota in quotas}
        except HcloudError as error:
            yield _failed("quotas", error, "no warning before 'apply' that a quota will stop it")
            return
    for quota in seen.values():
        limit = "no limit" if quota.limit is None else f"{quota.limit}"
        full = quota.limit is not None and quota.used >= quota.limit
        yield CheckResult(
            "quotas", CheckStatus.WARNING if full else CheckStatus.OK, f"{quota.name}: {quota.used} of {limit} in use"
        )
    if not types:
        yield CheckResult("quotas", CheckStatus.SKIPPED, "not checked: no fleet is configured")


def _prices(ground: LiveGround) -> CheckResult:
    if ground.is_local:
        return CheckResult("prices", CheckStatus.SKIPPED, "this computer costs nothing extra")
    place = ground.place
    offers = [
        o
        for o in ground.book.select(Provider(place.provider), PurchaseOption.ON_DEMAND)
        if o.key.region == place.region
    ]
    if not offers:
        why = f"none on demand in {place.region}"
        return CheckResult("prices", CheckStatus.ERROR, why, ("without them: no 'apply'",), "hcloud pricing import")
    oldest: date = min(o.origin.day for o in offers)
    age = (ground.today - oldest).days
    status = CheckStatus.WARNING if age > OLDEST_PRICE_DAYS else CheckStatus.OK
    hint = refresh_command(place.provider, place.region) if status is CheckStatus.WARNING else ""
    return CheckResult("prices", status, f"{len(offers)} in {place.region}, the oldest {format_age(age)}", hint=hint)


def _clock(ground: LiveGround) -> CheckResult:
    if ground.selection.startswith(FAKE) or ground.is_local:
        return CheckResult("clock", CheckStatus.SKIPPED, "no other clock to compare with")
    url = ground.loaded.config.live.endpoint or CLOUDS[ground.place.provider].endpoint
    told = _time_at(url)
    if told is None:
        return CheckResult("clock", CheckStatus.WARNING, f"{url} returned no date; clock skew not checked")
    off = ground.clock.now() - told
    if abs(off) > MOST_SKEW_SECONDS:
        why = f"{abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} {url}: requests may be refused as forged"
        return CheckResult("clock", CheckStatus.ERROR, why, hint="set the clock, for example with chrony")
    return CheckResult("clock", CheckStatus.OK, f"within {MOST_SKEW_SECONDS:.0f} s of {url}")


def _time_at(url: str) -> float | None:
    """The time that an endpoint's answer bears, whatever it answers; None where it does not answer."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=PATIENCE_SECONDS)
    try:
        connection.request("HEAD", "/")
        told = connection.getresponse().getheader("date")
        return email.utils.parsedate_to_datetime(told).timestamp() if told else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
