"""A container of Azure's Blob Storage through its SDK: ETags with If-Match and If-None-Match, no leases."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.storage.blob import BlobPrefix, ContainerClient, ExponentialRetry

from hcloud.errors import (
    Call,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    RefusedError,
    ThrottledError,
    UsageError,
)
from hcloud.model.endpoint import AZURE_AUTHORITY, check_azure_authority, checked_endpoint
from hcloud.store.buckets.objects import (
    ABSENT,
    AGAIN,
    ConditionError,
    LostError,
    Marked,
    StoredObject,
    Writing,
    shown,
    unanswered,
)
from hcloud.store.files.private_directory import LARGEST

VARIABLE = "AZURE_STORAGE_CONNECTION_STRING"
MARK = "hcloud_write"  # Azure takes names as C# does: without a dash
RETRIES, CONNECT_SECONDS, READ_SECONDS = 2, 5, 20  # ours
SIGN_IN = "az login, or set AZURE_STORAGE_CONNECTION_STRING; then run the command again"
NEEDED = "the state needs the role Storage Blob Data Contributor on the container"
_REFUSED = frozenset({"BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet"})
_SIGNING = frozenset({"AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"})
_BUSY = frozenset({"ServerBusy", "TooManyRequests"})


class AzureObjects:
    """The Objects port. Without ``client`` it is made from the environment: as AZURE_STORAGE_CONNECTION_STRING says
    where that is this account's, else with the credentials that azure-identity finds."""

    conditions = "If-Match and If-None-Match"

    def __init__(self, account_url: str, container: str, client: ContainerClient | None = None) -> None:
        self._client: Any = client or _client(account_url, container)
        self._container = container

    @property
    def where(self) -> str:
        """Endpoint, account and container; what signs requests may be in the query and stays there."""
        parts = urlsplit(self._client.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def get(self, key: str) -> StoredObject | None:
        """Get Blob."""
        try:
            found = self._client.download_blob(key)
            if found.size > LARGEST:
                raise InputError(f"{self.where}/{key}: larger than any that hcloud writes ({LARGEST} bytes)")
            return StoredObject(found.properties.etag, found.readall())
        except AzureError as error:
            if _code(error) == "BlobNotFound":
                return None
            raise self._meant("Get Blob", error) from None

    def marked(self, key: str) -> Marked | None:
        """Get Blob Properties."""
        try:
            found = self._client.get_blob_client(key).get_blob_properties()
        except AzureError as error:
            if _code(error) == "BlobNotFound":
                return None
            raise self._meant("Get Blob Properties", error) from None
        return Marked(found.etag, (found.metadata or {}).get(MARK, ""))

    def put(self, writing: Writing) -> str:
        """Put Blob."""
        words: dict[str, Any] = {"overwrite": writing.only_if != ABSENT, "metadata": {MARK: writing.mark}}
        if writing.only_if:
            words |= {"etag": writing.only_if, "match_condition": MatchConditions.IfNotModified}
        try:
            blob = self._client.get_blob_client(writing.key)
            return str(blob.upload_blob(writing.data, **words)["etag"])
        except AzureError as error:
            raise self._failed(writing, error) from None

    def delete(self, key: str) -> None:
        """Delete Blob."""
        try:
            self._client.delete_blob(key)
        except AzureError as error:
            if _code(error) != "BlobNotFound":
                raise self._meant("Delete Blob", error) from None

    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        """List Blobs, every page, with a delimiter where it is not ``deep``."""
        try:
            asked = {"name_starts_with": prefix}
            listed = self._client.list_blobs(**asked) if deep else self._client.walk_blobs(**asked, delimiter="/")
            for found in listed:
                if not isinstance(found, BlobPrefix):
                    yield str(found.name)
        except AzureError as error:
            raise self._meant("List Blobs", error) from None

    def copy(self, key: str, file: BinaryIO) -> None:
        """Get Blob, in pieces."""
        try:
            self._client.download_blob(key).readinto(file)
        except AzureError as error:
            raise self._meant("Get Blob", error) from None

    def _failed(self, writing: Writing, error: AzureError) -> HcloudError:
        """What became of a writing."""
        code, status = _code(error), _status(error)
        if code in _REFUSED or (code == "BlobNotFound" and writing.only_if):
            return ConditionError(f"{self.where}/{writing.key}: {code}")
        if isinstance(error, ClientAuthenticationError) or (status and status < 500 and status != 408):
            return self._meant("Put Blob", error)
        return LostError(self._meant("Put Blob", error, unknown=True))

    def _meant(self, operation: str, error: AzureError, *, unknown: bool = False) -> HcloudError:
        """What the SDK's exception means to a caller."""
        code, status = _code(error), _status(error)
        call, said = Call("blob", "-", operation, code or type(error).__name__), f"{self.where}: {_said(error)}"
        if code == "ContainerNotFound":
            return UsageError(f"{self.where}: there is no such container", hint="make it, or name another with --state")
        if code in _SIGNING or status == 401 or (isinstance(error, ClientAuthenticationError) and not status):
            return CredentialsError(said, call, hint=SIGN_IN)
        if code in _BUSY or status == 429:
            return ThrottledError(said, call, hint=AGAIN)
        if status == 403:
            return DeniedError(said, call, hint=NEEDED)
        if status and 400 <= status < 500 and status != 408:
            return RefusedError(said, call)
        return unanswered(said, call, unknown=unknown)


def _code(error: AzureError) -> str:
    found = getattr(error, "error_code", "") or ""
    return str(getattr(found, "value", found))


def _status(error: AzureError) -> int:
    return int(error.status_code or 0) if isinstance(error, HttpResponseError) else 0


def _said(error: AzureError) -> str:
    """Its first line: below it Azure repeats what was signed. What a transport says holds the signed address."""
    if isinstance(error, HttpResponseError | ClientAuthenticationError):
        lines = str(error.message or type(error).__name__).strip().splitlines()
        return shown(lines[0])[:500]
    return f"no answer ({type(error).__name__})"


def _client(account_url: str, container: str) -> Any:
    logging.getLogger("azure").addHandler(logging.NullHandler())  # what it warns of is raised, too
    retries = ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=RETRIES, random_jitter_range=1)
    words: dict[str, Any] = {
        "retry_policy": retries,
        "permit_redirects": False,
        "connection_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
    }
    written = os.environ.get(VARIABLE, "")
    if written:
        try:
            made = ContainerClient.from_connection_string(written, container, **words)
        except ValueError:
            raise UsageError(
                f"{VARIABLE} is no connection string", hint="see az storage account show-connection-string"
            ) from None
        if made.account_name == (urlsplit(account_url).hostname or "").partition(".")[0]:
            checked_endpoint(made.url.partition("?")[0], f"the endpoint in {VARIABLE}")
            return made
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        from hcloud.errors import MissingExtraError

        raise MissingExtraError("azure-identity", "azure") from None
    check_azure_authority(os.environ.get(AZURE_AUTHORITY, ""))
    return ContainerClient(account_url, container, credential=DefaultAzureCredential(), **words)
