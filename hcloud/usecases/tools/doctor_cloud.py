"""``hcloud doctor --cloud``: whether a cloud can be worked with, and what each missing thing keeps from working."""

from __future__ import annotations

import email.utils
import http.client
from collections.abc import Callable, Iterator
from datetime import date
from urllib.parse import urlsplit

from hcloud.errors import CloudError, CredentialsError, HcloudError
from hcloud.model.catalog import Provider, PurchaseOption, refresh_command
from hcloud.model.checks import CheckResult, CheckStatus
from hcloud.model.clouds.known import CLOUDS
from hcloud.model.holdings.live import Quota, Scope
from hcloud.units import format_age
from hcloud.usecases.live.ground import FAKE, LiveGround

PATIENCE_SECONDS = 3.0  # ours
MOST_SKEW_SECONDS = 60.0  # ours; signatures are refused from five minutes on
OLDEST_PRICE_DAYS = 30  # conventions: for apply and commit
NEEDED = ("credentials", "machines")
"""Without these nothing on a cloud works, for whatever reason they cannot be had."""


def examine_cloud(ground: LiveGround) -> Iterator[CheckResult]:
    """Checks that only read; where the credentials do not hold, nothing after them is asked."""
    try:
        scope = ground.cloud.scope()
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
    seen = [m for m in ground.cloud.machines("") if m.state.is_live]
    return f"{len(seen)} with an hcloud tag are visible"


def _commitments(ground: LiveGround) -> str:
    held = [c for c in ground.cloud.commitments() if c.state in ("active", "pending", "queued")]
    return f"{len(held)} held"


def _quotas(ground: LiveGround) -> Iterator[CheckResult]:
    types = sorted({section.instance_type for section in ground.loaded.config.fleet})
    seen: dict[str, Quota] = {}
    for name in types:
        try:
            seen |= {quota.name: quota for quota in ground.cloud.quotas(name)}
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
