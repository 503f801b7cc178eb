"""The one rule for every address that is asked: encrypted, or on this machine, and nothing secret in it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from hcloud.errors import UsageError


def checked_endpoint(url: str, named: str) -> str:
    """An endpoint that somebody named (in ``named``) as it can be shown, stored and asked. UsageError, which does not
    repeat it, where it bears user, password or query, and where it is elsewhere and not encrypted."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not url.isprintable():
        raise UsageError(f"{named} is not a URL", hint="write https://host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"{named} contains a user, a password or a query", hint="an endpoint is scheme, host and port")
    if parts.scheme == "http" and not _is_loopback(host):
        raise UsageError(f"{named} is remote and not encrypted", hint="plain http is for this machine only")
    return url.rstrip("/")


_TOKEN_ADDRESSES = ("_token_uri", "_token_url", "_service_account_impersonation_url")


def check_google_credentials(credentials: object) -> None:
    """The rule for the addresses from which credentials of google-auth get their tokens."""
    for name in _TOKEN_ADDRESSES:
        if address := getattr(credentials, name, None):
            checked_endpoint(str(address), "the address for tokens in GOOGLE_APPLICATION_CREDENTIALS")


AZURE_AUTHORITY = "AZURE_AUTHORITY_HOST"


def check_azure_authority(authority: str) -> None:
    """The rule for what AZURE_AUTHORITY_HOST names, from which azure-identity gets its tokens; a bare host is one of
    https."""
    if authority:
        checked_endpoint(authority if "://" in authority else f"https://{authority}", AZURE_AUTHORITY)


def is_here(url: str) -> bool:
    """Whether an endpoint is on this machine."""
    try:
        return _is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def is_plain(url: str) -> bool:
    """Whether an endpoint is asked without encryption, and so one on this machine: no credential and no proxy is for
    it."""
    return url.startswith("http://")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
