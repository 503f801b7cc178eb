"""Buckets for tests: moto's server for S3, our own fakes for Google's and Azure's stores, and one rig for all."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO, cast

from fake_objects import ACCOUNT, BUCKET, FakeAzure, FakeGoogle, FakeStore, Kind

from hcloud.control.ports import Crash
from hcloud.fake.server import FakeCloud, FakeServer
from hcloud.store.buckets.address import Address, parse_address
from hcloud.store.buckets.bucket import Bucket
from hcloud.store.buckets.objects import ABSENT, ConditionError, Marked, Objects, StoredObject, Writing
from hcloud.store.buckets.state_bucket import BucketStateStore
from hcloud.store.files.crash import go_on

PREFIX = "team/shop"
STORES = ("s3", "gs", "azure")
KEY = "Y2FuYXJ5LWtleQ=="
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Front:
    """Before moto: what moto looks up and then writes happens at once, as in S3. Answers to requests that ``loses``
    names are lost after they were acted on; ``ignores_conditions`` takes their conditions off, as some stores do."""

    def __init__(self, behind: Wsgi) -> None:
        self._behind = behind
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.loses: Callable[[str, str], bool] = lambda what, key: False
        self.refuses: Callable[[str, str], Kind] = lambda what, key: ""
        self.ignores_conditions = False
        self.requests: list[tuple[str, str]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, path = str(environ["REQUEST_METHOD"]), str(environ["PATH_INFO"])
        key = path.removeprefix(f"/{BUCKET}").lstrip("/")
        what = "LIST" if method == "GET" and not key else method
        with self._lock:
            self.requests.append((what, key))
            if kind := self.refuses(what, key):
                return _answered(start_response, *_S3[kind])
            if self.ignores_conditions:
                environ.pop("HTTP_IF_MATCH", None), environ.pop("HTTP_IF_NONE_MATCH", None)
            lost = self.loses(what, key)
            body = list(self._behind(environ, (lambda *_: lambda _: None) if lost else start_response))
        if lost:  # what cannot be understood is no answer
            return _answered(start_response, *_S3["broken"])
        return body


_S3 = {
    "busy": ("409 Conflict", "ConditionalRequestConflict"),
    "aborted": ("409 Conflict", "OperationAborted"),
    "throttled": ("503 Service Unavailable", "SlowDown"),
    "unsupported": ("501 Not Implemented", "NotImplemented"),
    "denied": ("403 Forbidden", "AccessDenied"),
    "expired": ("400 Bad Request", "ExpiredToken"),
    "broken": ("500 Internal Server Error", "InternalError"),
}


def _answered(start_response: Callable[..., Any], status: str, code: str) -> Iterable[bytes]:
    body = f"<Error><Code>{code}</Code><Message>said so</Message></Error>".encode()
    start_response(status, [("content-type", "application/xml"), ("content-length", str(len(body)))])
    return [body]


class Rig(ABC):
    """A store of objects with one bucket: how hcloud sees it, and how a test looks past hcloud into it."""

    address: Address
    front: Front | FakeStore
    environment: Mapping[str, str]
    """What a process needs to reach it."""

    @property
    def where(self) -> str:
        return str(self.address)

    @abstractmethod
    def objects(self, bucket: str = BUCKET) -> Objects:
        """hcloud's own client, without resendings."""

    def store(self, crash: Crash = go_on, *, unsafe: bool = False, bucket: str = BUCKET) -> BucketStateStore:
        return BucketStateStore(self.place(crash, bucket=bucket), crash, unsafe=unsafe)

    def place(self, crash: Crash = go_on, prefix: str = PREFIX, bucket: str = BUCKET) -> Bucket:
        found = Bucket(self.objects(bucket), self.where, prefix, crash)
        found.sleep = lambda seconds: None
        return found

    @abstractmethod
    def body(self, name: str) -> bytes:
        """What an object under the prefix holds."""

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Write as somebody else would."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object."""

    @abstractmethod
    def keys(self) -> list[str]:
        """Everything that is in the bucket."""

    @abstractmethod
    def paged(self, number: int) -> Objects:
        """The client where a page of a list holds so many."""

    def empty(self) -> None:
        """An empty bucket, nothing lost or refused."""
        self.front.reset()


class Amazon(Rig):
    def __init__(self, front: Front, url: str) -> None:
        self.front, self.address = front, parse_address(f"s3://{BUCKET}/{PREFIX}")
        self.client = client(url)
        self.client.create_bucket(Bucket=BUCKET)
        self.behind = kept()
        keys = {"AWS_ACCESS_KEY_ID": "canary-id", "AWS_SECRET_ACCESS_KEY": "canary-secret", "AWS_REGION": "us-east-1"}
        self.environment = {"AWS_ENDPOINT_URL": url, **keys}

    def objects(self, bucket: str = BUCKET) -> Objects:
        from hcloud.store.buckets.s3 import S3Objects

        return S3Objects(bucket, self.client)

    def body(self, name: str) -> bytes:
        found: bytes = self.behind.get_object(BUCKET, f"{PREFIX}/{name}").value
        return found

    def put(self, name: str, data: bytes) -> None:
        self.behind.put_object(BUCKET, f"{PREFIX}/{name}", data)

    def delete(self, name: str) -> None:
        self.behind.delete_object(BUCKET, f"{PREFIX}/{name}")

    def keys(self) -> list[str]:
        return sorted(self.behind.get_bucket(BUCKET).keys)

    def paged(self, number: int) -> Objects:
        from hcloud.store.buckets.s3 import S3Objects

        whole = self.client

        class Short:
            def __getattr__(self, name: str) -> Any:
                if name == "list_objects_v2":
                    return lambda **words: whole.list_objects_v2(**words, MaxKeys=number)
                return getattr(whole, name)

        return S3Objects(BUCKET, Short())

    def empty(self) -> None:
        super().empty()
        for key in self.keys():
            self.behind.delete_object(BUCKET, key)


class Own(Rig):
    """A rig on one of our fakes."""

    front: FakeStore

    def body(self, name: str) -> bytes:
        return self.front.objects[f"{PREFIX}/{name}"].body

    def put(self, name: str, data: bytes) -> None:
        self.front.write(f"{PREFIX}/{name}", data)

    def delete(self, name: str) -> None:
        del self.front.objects[f"{PREFIX}/{name}"]

    def keys(self) -> list[str]:
        return sorted(self.front.objects)

    def paged(self, number: int) -> Objects:
        self.front.page = number
        return self.objects()

    def empty(self) -> None:
        super().empty()
        self.front.page, self.front.now = 1000, None


class Google(Own):
    def __init__(self, front: FakeStore, url: str) -> None:
        self.front, self.address = front, parse_address(f"gs://{BUCKET}/{PREFIX}")
        self.environment = {"STORAGE_EMULATOR_HOST": url}

    def objects(self, bucket: str = BUCKET) -> Objects:
        import requests

        from hcloud.store.buckets.gcs import GoogleObjects

        return GoogleObjects(bucket, requests.Session(), self.environment["STORAGE_EMULATOR_HOST"])


class Azure(Own):
    def __init__(self, front: FakeStore, url: str) -> None:
        account = f"https://{ACCOUNT}.blob.core.windows.net"
        self.front, self.address = front, parse_address(f"{account}/{BUCKET}/{PREFIX}")
        written = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={url}/{ACCOUNT}"
        self.environment = {"AZURE_STORAGE_CONNECTION_STRING": written}

    def objects(self, bucket: str = BUCKET) -> Objects:
        from azure.storage.blob import ContainerClient

        from hcloud.store.buckets.azure import AzureObjects

        written = self.environment["AZURE_STORAGE_CONNECTION_STRING"]
        made = ContainerClient.from_connection_string(written, bucket, retry_total=0)
        return AzureObjects(self.address.account, bucket, made)


class InMemory:
    """The Objects port on a dictionary, for what does not depend on whose store it is."""

    where, conditions = "memory", "if it is what was read"

    def __init__(self) -> None:
        self.held: dict[str, tuple[str, Writing]] = {}

    def get(self, key: str) -> StoredObject | None:
        return StoredObject(self.held[key][0], self.held[key][1].data) if key in self.held else None

    def marked(self, key: str) -> Marked | None:
        return Marked(self.held[key][0], self.held[key][1].mark) if key in self.held else None

    def put(self, writing: Writing) -> str:
        stands = self.held[writing.key][0] if writing.key in self.held else ABSENT
        if writing.only_if is not None and writing.only_if != stands:
            raise ConditionError("it is not")
        self.held[writing.key] = (writing.mark, writing)
        return writing.mark

    def delete(self, key: str) -> None:
        self.held.pop(key, None)

    def copy(self, key: str, file: BinaryIO) -> None:
        raise NotImplementedError

    def list(self, prefix: str, *, deep: bool = False) -> Iterator[str]:
        found = (key for key in sorted(self.held) if key.startswith(prefix))
        return (key for key in found if deep or "/" not in key.removeprefix(prefix))


@contextmanager
def running(store: str) -> Iterator[Rig]:
    """The rig of ``s3``, ``gs`` or ``azure``."""
    if store == "s3":
        with served() as (front, url):
            yield Amazon(front, url)
        return
    fake: FakeStore = FakeGoogle() if store == "gs" else FakeAzure()
    with FakeServer(cast("FakeCloud", fake)) as server:
        yield Google(fake, server.url) if store == "gs" else Azure(fake, server.url)


@contextmanager
def served() -> Iterator[tuple[Front, str]]:
    """moto behind its front, and its address."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):  # type: ignore[misc]
        def log_request(self, *_: object) -> None:
            pass

    front = Front(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, front, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield front, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kept() -> Any:
    """What moto keeps: who looks past hcloud need not ask over a socket."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]


@cache
def _session() -> Any:
    """One for all clients: each new one reads the models of S3 again, which takes a tenth of a second and more."""
    import boto3

    return boto3.Session("canary-id", "canary-secret", region_name="us-east-1")


def client(url: str) -> Any:
    """boto3's, with credentials that are none."""
    from botocore.config import Config

    once = Config(retries={"mode": "standard", "total_max_attempts": 1})
    return _session().client("s3", endpoint_url=url, config=once)
