"""A place in a bucket of S3: objects written on conditions, so that no writer undoes what another wrote meanwhile."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from hcloud.control.ports import Crash
from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.store.crash import go_on
from hcloud.store.place import ChangedError
from hcloud.store.private_directory import LARGEST

WRITE_MARK = "hcloud-write"
"""Metadata of each object, drawn anew for each writing: it tells a writer whose answer was lost that it was its own."""

_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
_PUT_OFF = frozenset({"ConditionalRequestConflict", "OperationAborted"})
_REFUSED = frozenset({"PreconditionFailed", "412"}) | _PUT_OFF
TRIES, PAUSE_SECONDS = 3, 0.2  # ours
_CREDENTIALS = frozenset(
    {
        "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch",
        "RequestTimeTooSkewed", "TokenRefreshRequired",
    }
)  # fmt: skip
_DENIED = frozenset({"AccessDenied", "403", "Forbidden", "AllAccessDisabled", "AccountProblem"})
_THROTTLED = frozenset({"SlowDown", "Throttling", "RequestLimitExceeded", "TooManyRequests"})


@dataclass(frozen=True, slots=True)
class _Object:
    etag: str
    body: bytes
    mark: str = ""


class Bucket:
    """A place (see hcloud.store.place) under a prefix of a bucket; ``client`` is boto3's for S3."""

    def __init__(self, client: Any, bucket: str, prefix: str, crash: Crash = go_on) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._crash = crash
        self._seen: dict[str, _Object | None] = {}
        self._mutex = threading.RLock()  # an answer that overtakes another would leave the older one as seen last

    def __str__(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def names(self) -> frozenset[str]:
        """The names of all objects directly under the prefix, every page of them."""
        found: set[str] = set()
        more: dict[str, str] = {}
        while True:
            page = self._ask("ListObjectsV2", Prefix=self._prefix, Delimiter="/", **more)
            found.update(entry["Key"].removeprefix(self._prefix) for entry in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return frozenset(found)
            following = page.get("NextContinuationToken")
            if not following or following == more.get("ContinuationToken"):
                call = Call("s3", str(self._client.meta.region_name or "-"), "ListObjectsV2")
                raise UnavailableError(f"{self}: the list goes on, and it is not said where", call)
            more = {"ContinuationToken": following}

    def read(self, name: str) -> bytes | None:
        """All of an object; None where there is none."""
        with self._mutex:
            found = self._seen[name] = self._look(name)
        return None if found is None else found.body

    def replace(self, name: str, data: bytes) -> None:
        """Write an object whatever there is."""
        self._put(name, data, {})

    def exchange(self, name: str, data: bytes) -> None:
        """Write an object where it is what was read last, or still absent."""
        with self._mutex:
            seen = self._seen.get(name)
            self._put(name, data, {"IfNoneMatch": "*"} if seen is None else {"IfMatch": seen.etag})

    def append(self, name: str, line: bytes, whole: int, size: int) -> None:
        """Write the object anew with a line more, where it is what was read last: S3 cannot append."""
        with self._mutex:
            seen = self._seen.get(name)
            if seen is None or len(seen.body) != size:
                raise self._changed(name)
            self.exchange(name, seen.body[:whole] + line)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._ask("DeleteObject", Key=self._key(name))
        self._seen[name] = None

    def create(self, name: str, data: bytes) -> None:
        """Write an object where there is none; ChangedError where there is."""
        self._put(name, data, {"IfNoneMatch": "*"})

    def remove_seen(self, name: str) -> None:
        """Remove an object where it is what was read or written last; nothing where it is another's by now."""
        seen = self._seen.get(name)
        if seen is None:
            return
        try:
            self._sent(self._client.delete_object, Key=self._key(name), IfMatch=seen.etag)
        except ClientError as error:
            if _code(error) not in _REFUSED | _ABSENT:
                self._fail("DeleteObject", error)
        except BotoCoreError as error:
            self._fail("DeleteObject", error)
        self._seen[name] = None
        self._crash("store.object.deleted")

    def _put(self, name: str, data: bytes, condition: Mapping[str, str]) -> None:
        mark = uuid.uuid4().hex
        told = {"Metadata": {WRITE_MARK: mark}, "ContentType": "application/json", **condition}
        with self._mutex:
            try:
                answer = self._sent(self._client.put_object, Key=self._key(name), Body=data, **told)
            except (ClientError, BotoCoreError) as error:
                self._seen[name] = self._own(name, data, mark, error)
            else:
                self._seen[name] = _Object(answer["ETag"], data, mark)
        self._crash("store.object.put")

    def _sent(self, write: Callable[..., dict[str, Any]], **words: Any) -> dict[str, Any]:
        """The answer to a writing or a removal. 409 says that another request was under way, not that it came through:
        the same is sent again, and the condition it bears still keeps it from undoing what another wrote."""
        for left in reversed(range(TRIES)):
            try:
                return write(Bucket=self._bucket, **words)
            except ClientError as error:
                if not left or _code(error) not in _PUT_OFF:
                    raise
                time.sleep(PAUSE_SECONDS)
        raise AssertionError("unreachable")

    def _own(self, name: str, data: bytes, mark: str, error: Exception) -> _Object:
        """The object where it bears our mark: our writing arrived and only its answer was lost, or the SDK sent it
        twice. Raises what the error means where it does not."""
        refused = isinstance(error, ClientError) and _code(error) in _REFUSED | _ABSENT
        if not refused and isinstance(error, ClientError) and _status(error) < 500:
            self._fail("PutObject", error)
        found = self._look(name)
        if found is not None and found.mark == mark and found.body == data:
            return found
        if refused:
            raise self._changed(name) from None
        raise self._meant("PutObject", error, unknown=True) from None

    def _look(self, name: str) -> _Object | None:
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._key(name))
            if answer["ContentLength"] > LARGEST:
                raise InputError(f"{self}/{name}: larger than any that hcloud writes ({LARGEST} bytes)")
            return _Object(answer["ETag"], answer["Body"].read(), answer.get("Metadata", {}).get(WRITE_MARK, ""))
        except ClientError as error:
            if _code(error) in _ABSENT:
                return None
            self._fail("GetObject", error)
        except (BotoCoreError, OSError) as error:
            self._fail("GetObject", error)

    def _ask(self, operation: str, **words: str) -> dict[str, Any]:
        methods: dict[str, Callable[..., dict[str, Any]]] = {
            "ListObjectsV2": self._client.list_objects_v2,
            "DeleteObject": self._client.delete_object,
        }
        try:
            return methods[operation](Bucket=self._bucket, **words)
        except (ClientError, BotoCoreError) as error:
            self._fail(operation, error)

    def _fail(self, operation: str, error: Exception) -> NoReturn:
        raise self._meant(operation, error, unknown=False) from None

    def _meant(self, operation: str, error: Exception, *, unknown: bool) -> HcloudError:
        """What the SDK's exception means to a caller."""
        code = _code(error) if isinstance(error, ClientError) else type(error).__name__
        call = Call("s3", str(self._client.meta.region_name or "-"), operation, code)
        said = f"{self}: {error}"
        if isinstance(error, NoCredentialsError | PartialCredentialsError) or code in _CREDENTIALS:
            return CredentialsError(said, call, hint="see to the credentials of AWS, then run the command again")
        if code == "NoSuchBucket":
            return UsageError(f"{self}: there is no such bucket", hint="make the bucket, or name another with --state")
        if code in _DENIED:
            return DeniedError(said, call, hint="the state needs s3:GetObject, PutObject, DeleteObject and ListBucket")
        if code in _THROTTLED:
            return ThrottledError(said, call)
        kind: type[CloudError] = UnknownOutcomeError if unknown else UnavailableError
        return kind(said, call, hint="run the command again: it looks at what is stored before it goes on")

    def _changed(self, name: str) -> ChangedError:
        return ChangedError(f"{self}/{name}: somebody else wrote to it", hint="start again")

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}"


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
