"""A bucket of S3, or of a store that speaks its language, through boto3: ETags with If-Match and If-None-Match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from hcloud.errors import (
    Call,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    MissingExtraError,
    ThrottledError,
    UnavailableError,
    UsageError,
)
from hcloud.model.endpoint import checked_endpoint, is_plain
from hcloud.store.buckets.objects import (
    ABSENT,
    AGAIN,
    PIECE,
    ConditionError,
    LostError,
    Marked,
    PutOffError,
    StoredObject,
    Writing,
    shown,
    unanswered,
)
from hcloud.store.files.private_directory import LARGEST

MARK = "hcloud-write"
UNTAGGED = "answers without an ETag"
ATTEMPTS, CONNECT_SECONDS, READ_SECONDS = 3, 5, 20  # ours
PAUSE_SECONDS = 0.2  # ours: 409 says that another request was under way, which is soon over
_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
_PUT_OFF = frozenset({"ConditionalRequestConflict", "OperationAborted"})
_REFUSED = frozenset({"PreconditionFailed", "412"})
_CREDENTIALS = frozenset(
    {
        "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch",
        "RequestTimeTooSkewed", "TokenRefreshRequired",
    }
)  # fmt: skip
_DENIED = frozenset({"AccessDenied", "403", "Forbidden", "AllAccessDisabled", "AccountProblem"})
_THROTTLED = frozenset({"SlowDown", "Throttling", "RequestLimitExceeded", "TooManyRequests"})


class S3Objects:
    """The Objects port; ``client`` is boto3's for S3, made from the environment without one."""

    conditions = "If-Match and If-None-Match"

    def __init__(self, bucket: str, client: Any = None) -> None:
        self._client = client or _client()
        self._bucket = bucket

    @property
    def where(self) -> str:
        """Endpoint and bucket."""
        return f"{shown(str(self._client.meta.endpoint_url))}/{self._bucket}"

    def get(self, key: str) -> StoredObject | None:
        """GetObject."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            if answer.get("ContentLength", 0) > LARGEST:
                raise InputError(f"s3://{self._bucket}/{key}: larger than any that hcloud writes ({LARGEST} bytes)")
            return StoredObject(self._tag(answer), answer["Body"].read())
        except (BotoCoreError, ClientError, OSError) as error:
            if _code(error) in _ABSENT:
                return None
            raise self._meant("GetObject", error) from None

    def marked(self, key: str) -> Marked | None:
        """HeadObject."""
        try:
            answer = self._client.head_object(Bucket=self._bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            if _code(error) in _ABSENT:
                return None
            raise self._meant("HeadObject", error) from None
        return Marked(self._tag(answer), answer.get("Metadata", {}).get(MARK, ""))

    def put(self, writing: Writing) -> str:
        """PutObject."""
        words: dict[str, Any] = {"Body": writing.data, "Metadata": {MARK: writing.mark}}
        if writing.only_if is not None:
            words |= {"IfNoneMatch": "*"} if writing.only_if == ABSENT else {"IfMatch": writing.only_if}
        try:
            answer = self._client.put_object(
                Bucket=self._bucket, Key=writing.key, ContentType="application/json", **words
            )
        except (ClientError, BotoCoreError) as error:
            raise self._failed(writing, error) from None
        if "ETag" not in answer:  # it was written: whoever looks whether it was its own finds the tag
            raise LostError(self._unfit(UNTAGGED))
        return self._tag(answer)

    def delete(self, key: str) -> None:
        """DeleteObject."""
        try:
            self._client.delete_object(Bucket=self._bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            raise self._meant("DeleteObject", error) from None

    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        """ListObjectsV2, every page, with a delimiter where it is not ``deep``."""
        asked = {} if deep else {"Delimiter": "/"}
        more: dict[str, str] = {}
        while True:
            try:
                page = self._client.list_objects_v2(Bucket=self._bucket, Prefix=prefix, **asked, **more)
            except (BotoCoreError, ClientError) as error:
                raise self._meant("ListObjectsV2", error) from None
            yield from (entry["Key"] for entry in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return
            following = page.get("NextContinuationToken")
            if not following or following == more.get("ContinuationToken"):
                said = f"s3://{self._bucket}/{prefix}: the list is incomplete: no continuation token"
                raise UnavailableError(said, self._call("ListObjectsV2", ""))
            more = {"ContinuationToken": following}

    def copy(self, key: str, file: BinaryIO) -> None:
        """GetObject, in pieces."""
        try:
            for piece in self._client.get_object(Bucket=self._bucket, Key=key)["Body"].iter_chunks(PIECE):
                file.write(piece)
        except (BotoCoreError, ClientError) as error:
            raise self._meant("GetObject", error) from None

    def _failed(self, writing: Writing, error: Exception) -> HcloudError:
        """What became of a writing."""
        code, status = _code(error), _status(error)
        if code in _PUT_OFF:
            return PutOffError(self._meant("PutObject", error), PAUSE_SECONDS)
        if code in _REFUSED or (code in _ABSENT and writing.only_if):
            return ConditionError(f"s3://{self._bucket}/{writing.key}: {code}")
        if code == "NotImplemented":
            return self._unfit(f"does not take conditional writes ({self.conditions})")
        if isinstance(error, ClientError) and status < 500:
            return self._meant("PutObject", error)
        return LostError(self._meant("PutObject", error, unknown=True))

    def _tag(self, answer: Mapping[str, Any]) -> str:
        """The ETag of an object."""
        if "ETag" not in answer:
            raise self._unfit(UNTAGGED)
        return str(answer["ETag"])

    def _unfit(self, why: str) -> HcloudError:
        return UsageError(
            f"s3://{self._bucket}: the store at {self.where} {why}",
            hint="name another store with --state; two runs at once could not be kept apart here",
        )

    def _meant(self, operation: str, error: Exception, *, unknown: bool = False) -> HcloudError:
        """What the SDK's exception means to a caller."""
        code = _code(error) or type(error).__name__
        call, said = self._call(operation, code), f"s3://{self._bucket}: {shown(str(error))}"
        if isinstance(error, NoCredentialsError | PartialCredentialsError) or code in _CREDENTIALS:
            return CredentialsError(said, call, hint="see to the credentials of AWS, then run the command again")
        if code == "NoSuchBucket":
            return UsageError(
                f"s3://{self._bucket}: there is no such bucket", hint="make the bucket, or name another with --state"
            )
        if code in _DENIED:
            return DeniedError(said, call, hint="the state needs s3:GetObject, PutObject, DeleteObject and ListBucket")
        if code in _THROTTLED:
            return ThrottledError(said, call, hint=AGAIN)
        return unanswered(said, call, unknown=unknown)

    def _call(self, operation: str, code: str) -> Call:
        return Call("s3", str(self._client.meta.region_name or "-"), operation, code)


def _code(error: Exception) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _status(error: Exception) -> int:
    told = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
    return int(told.get("HTTPStatusCode", 0))


def _client() -> Any:
    try:
        import boto3
    except ImportError:
        raise MissingExtraError("boto3", "aws") from None
    from botocore.config import Config

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    try:
        config = Config(retries=retries, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS)
        made = boto3.client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(
            f"the client for S3 cannot be made: {shown(str(error))}", hint="see AWS_PROFILE and AWS_REGION"
        ) from None
    named = "the endpoint of S3 (AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, endpoint_url)"
    if is_plain(checked_endpoint(str(made.meta.endpoint_url), named)):
        made = boto3.client("s3", config=config.merge(Config(proxies={})))  # unencrypted: through no proxy
    return made
