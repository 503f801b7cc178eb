"""A bucket of Google Cloud Storage over its JSON API: every writing names the generation that it replaces.

Google's own library for it is not needed: four requests, signed by google-auth, which Compute Engine's brings along.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

import google.auth
import requests
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import AuthorizedSession, Request
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from hcloud import __version__
from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
    UsageError,
)
from hcloud.model.endpoint import check_google_credentials, checked_endpoint, is_plain
from hcloud.model.json_text import parsed
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

PUBLIC = "https://storage.googleapis.com"
VARIABLE = "STORAGE_EMULATOR_HOST"
SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
MARK = "hcloud-write"
CONNECT_SECONDS, READ_SECONDS, METADATA_SECONDS = 5, 20, 1.0  # ours
PAUSE_SECONDS = 1.0  # Google lets one object be written about once a second
AGAIN_STATUS, RETRIES, BACKOFF = (408, 500, 502, 503, 504), 2, 0.5  # ours
NEEDED = "the state needs storage.objects.get, list, create and delete (roles/storage.objectUser)"
_NOT_UNDERSTOOD = (ValueError, KeyError, TypeError, AttributeError, requests.RequestException)
_SLOWER = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
Found = TypeVar("Found")


class GoogleObjects:
    """The Objects port. ``emulator`` is what STORAGE_EMULATOR_HOST names: it is sent no credentials. Without
    ``session`` (of ``requests``) one is made with the credentials that Google's libraries find."""

    conditions = "ifGenerationMatch"

    def __init__(self, bucket: str, session: requests.Session | None = None, emulator: str = "") -> None:
        self._bucket = bucket
        named = emulator if "://" in emulator else f"http://{emulator}"
        self._base = checked_endpoint(named, VARIABLE) if emulator else PUBLIC
        self._session = session or (_plain() if emulator else _signed())
        self._session.trust_env = not is_plain(self._base)  # what is not encrypted goes through no proxy

    @property
    def where(self) -> str:
        """Endpoint and bucket."""
        return f"{self._base}/{self._bucket}"

    def get(self, key: str) -> StoredObject | None:
        """objects.get with the content; its generation is in a header."""
        reply = self._asked("objects.get", "GET", f"/download{self._path(key)}", {"alt": "media"}, stream=True)
        if reply.status_code == 404:
            return None
        self._check("objects.get", reply)
        if int(reply.headers.get("content-length") or 0) > LARGEST:
            raise InputError(f"gs://{self._bucket}/{key}: larger than any that hcloud writes ({LARGEST} bytes)")
        try:
            body = reply.content
        except requests.RequestException as error:
            raise self._unanswered("objects.get", error) from None
        tag = reply.headers.get("x-goog-generation", "")
        if not tag:
            raise UnavailableError(
                f"gs://{self._bucket}/{key}: the answer has no generation", self._call("objects.get", "")
            )
        return StoredObject(tag, body)

    def marked(self, key: str) -> Marked | None:
        """objects.get without the content."""
        reply = self._asked("objects.get", "GET", self._path(key), {"fields": "generation,metadata"})
        if reply.status_code == 404:
            return None
        return self._document("objects.get", reply, _marked)

    def put(self, writing: Writing) -> str:
        """objects.insert of metadata and content in one request."""
        asked = {"uploadType": "multipart", "fields": "generation"}
        if writing.only_if is not None:
            asked["ifGenerationMatch"] = "0" if writing.only_if == ABSENT else writing.only_if
        kind, body = _related(writing)
        path = f"/upload/storage/v1/b/{self._bucket}/o"
        try:
            reply = self._sent("POST", path, asked, data=body, headers={"content-type": kind})
        except requests.RequestException as error:
            raise LostError(self._unanswered("objects.insert", error, unknown=True)) from None
        if not reply.ok:
            raise self._failed(writing, reply)
        try:
            return _generation(parsed(reply.content))
        except _NOT_UNDERSTOOD:
            raise LostError(self._not_understood("objects.insert", "", unknown=True)) from None

    def delete(self, key: str) -> None:
        """objects.delete."""
        reply = self._asked("objects.delete", "DELETE", self._path(key), {})
        if reply.status_code != 404:
            self._check("objects.delete", reply)

    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        """objects.list, every page, with a delimiter where it is not ``deep``."""
        asked = {"prefix": prefix, "fields": "items(name),nextPageToken"} | ({} if deep else {"delimiter": "/"})
        while True:
            reply = self._asked("objects.list", "GET", f"/storage/v1/b/{self._bucket}/o", asked)
            if reply.status_code == 404:
                raise self._no_bucket()
            names, following = self._document("objects.list", reply, _listed)
            yield from names
            if not following:
                return
            if following == asked.get("pageToken"):
                said = f"gs://{self._bucket}/{prefix}: the list repeats its continuation token"
                raise UnavailableError(said, self._call("objects.list", ""))
            asked["pageToken"] = following

    def copy(self, key: str, file: BinaryIO) -> None:
        """objects.get with the content, in pieces."""
        reply = self._asked("objects.get", "GET", f"/download{self._path(key)}", {"alt": "media"}, stream=True)
        self._check("objects.get", reply)
        try:
            for piece in reply.iter_content(PIECE):
                file.write(piece)
        except requests.RequestException as error:
            raise self._unanswered("objects.get", error) from None

    def _failed(self, writing: Writing, reply: requests.Response) -> HcloudError:
        """What became of a writing that was answered with no."""
        status, reason = reply.status_code, _reason(reply)
        meaning = self._meant("objects.insert", reply, unknown=status >= 500 or status == 408)
        if status == 412 or (status == 404 and writing.only_if):
            return ConditionError(str(meaning))
        if status in (409, 429) or reason in _SLOWER:
            return PutOffError(meaning, PAUSE_SECONDS)
        if status == 404:
            return self._no_bucket()
        return LostError(meaning) if isinstance(meaning, UnknownOutcomeError) else meaning

    def _asked(
        self, operation: str, method: str, path: str, asked: Mapping[str, str], *, stream: bool = False
    ) -> requests.Response:
        try:
            return self._sent(method, path, asked, stream=stream)
        except requests.RequestException as error:
            raise self._unanswered(operation, error) from None

    def _sent(self, method: str, path: str, asked: Mapping[str, str], **more: Any) -> requests.Response:
        try:
            return self._session.request(
                method,
                self._base + path,
                params=dict(asked),
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
                **more,
            )
        except GoogleAuthError as error:
            raise _no_credentials(error) from None

    def _document(self, operation: str, reply: requests.Response, read: Callable[[Any], Found]) -> Found:
        self._check(operation, reply)
        try:
            return read(parsed(reply.content))
        except _NOT_UNDERSTOOD:
            raise self._not_understood(operation, str(reply.status_code), unknown=False) from None

    def _not_understood(self, operation: str, code: str, *, unknown: bool) -> CloudError:
        said = f"gs://{self._bucket}: the answer cannot be understood"
        return unanswered(said, self._call(operation, code), unknown=unknown)

    def _check(self, operation: str, reply: requests.Response) -> None:
        if not 200 <= reply.status_code < 300:
            raise self._meant(operation, reply)

    def _meant(self, operation: str, reply: requests.Response, *, unknown: bool = False) -> HcloudError:
        """What a refusal means to a caller."""
        status, reason = reply.status_code, _reason(reply)
        call, said = self._call(operation, reason or str(status)), f"gs://{self._bucket}: {_message(reply)}"
        if status == 401:
            return CredentialsError(said, call, hint="see to Google's credentials, then run the command again")
        if status == 429 or reason in _SLOWER:
            return ThrottledError(said, call, hint=AGAIN)
        if status == 403:
            return DeniedError(said, call, hint=NEEDED)
        if 400 <= status < 500 and status != 408:
            return RefusedError(said, call)
        return unanswered(said, call, unknown=unknown)

    def _unanswered(self, operation: str, error: Exception, *, unknown: bool = False) -> CloudError:
        said = f"gs://{self._bucket}: no answer from {self._base} ({type(error).__name__})"
        return unanswered(said, self._call(operation, ""), unknown=unknown)

    def _no_bucket(self) -> UsageError:
        return UsageError(
            f"gs://{self._bucket}: there is no such bucket", hint="make the bucket, or name another with --state"
        )

    def _path(self, key: str) -> str:
        return f"/storage/v1/b/{self._bucket}/o/{quote(key, safe='')}"

    def _call(self, operation: str, code: str) -> Call:
        return Call("gcs", "-", operation, code)


def _generation(told: Any) -> str:
    """Of an object as it was answered; ValueError for none."""
    return str(int(told["generation"]))


def _marked(told: Any) -> Marked:
    return Marked(_generation(told), str((told.get("metadata") or {}).get(MARK, "")))


def _listed(told: Any) -> tuple[list[str], str]:
    """The names on a page of a list, and where the next one is."""
    return [str(item["name"]) for item in told.get("items", ())], str(told.get("nextPageToken", ""))


def _related(writing: Writing) -> tuple[str, bytes]:
    """The content type and body of a multipart upload: what the object is, then the object."""
    border = uuid.uuid4().hex
    about = {
        "name": writing.key,
        "contentType": "application/json",
        "cacheControl": "no-store",
        "metadata": {MARK: writing.mark},
    }
    head = f"--{border}\r\ncontent-type: application/json; charset=utf-8\r\n\r\n{json.dumps(about)}\r\n"
    middle = f"--{border}\r\ncontent-type: application/json\r\n\r\n"
    body = f"{head}{middle}".encode() + writing.data + f"\r\n--{border}--\r\n".encode()
    return f"multipart/related; boundary={border}", body


def _error(reply: requests.Response) -> dict[str, Any]:
    try:
        found = parsed(reply.content)["error"]
    except (ValueError, KeyError, TypeError, requests.RequestException):
        return {}
    return found if isinstance(found, dict) else {}


def _reason(reply: requests.Response) -> str:
    listed = _error(reply).get("errors")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    return str(first.get("reason", ""))


def _message(reply: requests.Response) -> str:
    said = str(_error(reply).get("message", "")).strip().splitlines()
    return shown(said[0])[:500] if said else f"answered {reply.status_code}"


def _no_credentials(error: Exception) -> CloudError:
    call, said = Call("gcs", "-", "credentials", type(error).__name__), shown(str(error).splitlines()[0])[:500]
    if isinstance(error, TransportError):
        return unanswered(said, call, unknown=False)
    return CredentialsError(said, call, hint="gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS")


def _plain() -> requests.Session:
    return _patient(requests.Session())


def _signed() -> requests.Session:
    plain = Request()

    def impatient(*words: Any, **more: Any) -> Any:  # outside of Google nobody answers at its metadata server
        return plain(*words, **{**more, "timeout": METADATA_SECONDS})

    try:
        credentials, _ = google.auth.default(scopes=list(SCOPES), request=impatient)
    except GoogleAuthError as error:
        raise _no_credentials(error) from None
    check_google_credentials(credentials)
    return _patient(AuthorizedSession(credentials))


def _patient(session: requests.Session) -> requests.Session:
    """Send again what was not answered: what a first sending did is known by its mark."""
    again = Retry(
        RETRIES, status_forcelist=AGAIN_STATUS, allowed_methods=None, backoff_factor=BACKOFF, raise_on_status=False
    )
    session.mount("https://", HTTPAdapter(max_retries=again))
    session.mount("http://", HTTPAdapter(max_retries=again))
    session.headers["user-agent"] = f"hcloud-hybrid/{__version__}"
    return session
