"""Addresses of states in buckets: s3://, gs:// and Azure's https://, and the store behind each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from hcloud.control.ports import Crash
from hcloud.errors import MissingExtraError, UsageError
from hcloud.model.clouds.known import CLOUDS
from hcloud.store.buckets.objects import Objects, shown
from hcloud.store.buckets.state_bucket import BucketStateStore
from hcloud.store.files.crash import go_on

FORMS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX"
_S3 = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?", re.ASCII)
_GOOGLE = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(.*))?", re.ASCII)
_AZURE = re.compile(
    r"(https://[a-z0-9]{3,24}(?:\.z[0-9]{1,2})?\.blob\.(?:core\.windows\.net|core\.usgovcloudapi\.net|core\.chinacloudapi\.cn"
    r"|storage\.azure\.net))/(?=[a-z0-9-]{3,63}(?:/|$))([a-z0-9]+(?:-[a-z0-9]+)*)(?:/(.*))?",
    re.ASCII,
)
_SECRET = re.compile(r"[?#@\\\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a state is: the scheme, the account's address (Azure only), the bucket or container, and the prefix."""

    scheme: str
    account: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        head = f"{self.account}/" if self.account else f"{self.scheme}://"
        return f"{head}{self.bucket}/{self.prefix}".rstrip("/")


def parse_address(written: str, flag: str = "--state ") -> Address:
    """The address that somebody wrote, for ``flag``. UsageError for any other; what may be secret in it is not
    repeated."""
    found = _S3.fullmatch(written) or _GOOGLE.fullmatch(written)
    if found is not None and not _SECRET.search(written):
        return Address(written.partition(":")[0], "", found[1], (found[2] or "").strip("/"))
    azure = _AZURE.fullmatch(written)
    if azure is not None and not _SECRET.search(written):
        return Address("https", azure[1], azure[2], (azure[3] or "").strip("/"))
    if azure is not None and "?" in written:
        raise UsageError(
            f"{flag}{shown(written)}: such an address has no query, and no SAS token",
            hint="AZURE_STORAGE_CONNECTION_STRING takes one: BlobEndpoint=https://...;SharedAccessSignature=...",
        )
    raise UsageError(f"{flag}{shown(written)}: not a place in a bucket", hint=f"a directory, or {FORMS}")


def bucket_store(written: str, crash: Crash = go_on, *, unsafe: bool = False) -> BucketStateStore:
    """The store at an address, with the credentials that its cloud's SDK finds; nothing is asked yet."""
    from hcloud.store.buckets.bucket import Bucket

    address = parse_address(written)
    bucket = Bucket(objects_at(address), str(address), address.prefix, crash)
    return BucketStateStore(bucket, crash, unsafe=unsafe)


def objects_at(address: Address) -> Objects:
    """The bucket of an address, with the credentials that its cloud's SDK finds; nothing is asked yet."""
    try:
        return _OPENED[address.scheme](address)
    except ImportError:
        cloud = next(cloud for cloud in CLOUDS.values() if cloud.bucket[0] == address.scheme)
        raise MissingExtraError(cloud.bucket[1], cloud.name) from None


def _amazon(address: Address) -> Objects:
    from hcloud.store.buckets.s3 import S3Objects

    return S3Objects(address.bucket)


def _google(address: Address) -> Objects:
    from hcloud.store.buckets.gcs import VARIABLE, GoogleObjects

    return GoogleObjects(address.bucket, emulator=os.environ.get(VARIABLE, ""))


def _azure(address: Address) -> Objects:
    from hcloud.store.buckets.azure import AzureObjects

    return AzureObjects(address.account, address.bucket)


_OPENED: dict[str, Callable[[Address], Objects]] = {"s3": _amazon, "gs": _google, "https": _azure}
