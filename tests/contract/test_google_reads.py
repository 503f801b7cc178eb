"""Instances are read as Google wrote them: the same requests, errors and machines as with the SDK's own calls."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from contract.rig import LINEAGE, order
from contract.rigs.gcp import GoogleRig
from hcloud.errors import CloudError, CredentialsError, ThrottledError, UnavailableError
from hcloud.fake.server import FakeServer, HttpAnswer, Received, json_answer
from hcloud.model.fetched import SamplingWindow
from hcloud.providers.gcp import translate, wire
from hcloud.providers.gcp.documents import Document
from hcloud.providers.gcp.history import GoogleHistory
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.wire import Wire

ZONE = "us-central1-a"
SETTINGS = GoogleSettings("shop", "us-central1", principal="admin")
PAGE = b"<html><body><h1>Gateway</h1>" + b"x" * 3000 + b"</body></html>"
PLACE = f"https://www.googleapis.com/compute/v1/projects/shop/zones/{ZONE}"
INSTANCE: Document = {
    "kind": "compute#instance",
    "name": "hc-x",
    "zone": PLACE,
    "machineType": f"{PLACE}/machineTypes/e2-small",
    "scheduling": {"provisioningModel": "SPOT", "preemptible": True, "onHostMaintenance": "TERMINATE"},
    "status": "RUNNING",
    "creationTimestamp": "2026-11-21T01:00:00.500-08:00",
    "labels": {"a": "b"},
}


@dataclass
class Script:
    """A server that says what it was told to, in turn, and the last for ever; it notes what it was asked."""

    replies: tuple[HttpAnswer, ...] = ()
    slow: float = 0.0
    asked: list[Received] = field(default_factory=list)

    def answer(self, received: Received) -> HttpAnswer:
        self.asked.append(received)
        time.sleep(self.slow)
        return self.replies[min(len(self.asked), len(self.replies)) - 1]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(Script()) as running:  # type: ignore[arg-type]
        yield running


def refusal(status: int, reason: str, words: str = "words", **headers: str) -> HttpAnswer:
    errors = [{"message": words, "domain": "global", "reason": reason}]
    return json_answer({"error": {"code": status, "message": words, "errors": errors}}, status, headers)


def text(status: int, body: bytes, kind: str = "text/html", **headers: str) -> HttpAnswer:
    return HttpAnswer(status, body, {"content-type": kind, **headers})


REPLIES: Mapping[str, HttpAnswer] = {
    "400": refusal(400, "invalid"),
    "401": refusal(401, "authError"),
    "403 denied": refusal(403, "forbidden"),
    "403 throttled": refusal(403, "rateLimitExceeded", **{"retry-after": "30"}),
    "403 quota": refusal(403, "quotaExceeded"),
    "403 page": text(403, PAGE),
    "404": refusal(404, "notFound"),
    "404 page": text(404, PAGE),
    "404 nothing": HttpAnswer(404),
    "409": refusal(409, "alreadyExists"),
    "412": refusal(412, "conditionNotMet"),
    "429": refusal(429, "rateLimitExceeded", **{"retry-after": "30"}),
    "429 page": text(429, PAGE, **{"retry-after": "30"}),
    "500": refusal(500, "backendError"),
    "500 page": text(500, PAGE),
    "502 page that says JSON": text(502, PAGE, "application/json"),
    "503": refusal(503, "backendError", **{"retry-after": "7"}),
    "503 page": text(503, PAGE),
    "504 cut off": replace(refusal(504, "backendError"), body=b'{"error": {"code": 504, "mess'),
    "302": text(302, b"", location="/elsewhere"),
    "304": HttpAnswer(304),
    "204": HttpAnswer(204),
    "page": text(200, PAGE),
    "cut off": text(200, b'{"items": {"zones/a": {"instances": [{"name": "hc', "application/json"),
    "no character": text(200, b'{"id": "\xff"}', "application/json"),
    "half a character": text(200, b'{"id": "\\ud800"}', "application/json"),
    "deep": text(200, b"[" * 100_000, "application/json"),
    "no gzip": text(200, b"{}", "application/json", **{"content-encoding": "gzip"}),
    "null": text(200, b"null", "application/json"),
    "nothing": HttpAnswer(200),
    "dropped": HttpAnswer(dropped=True),
    "token of a number": json_answer({"nextPageToken": 7}),
    "empty": json_answer({}),
}
Way = Callable[[Wire], object]


def as_documents(pages: Any) -> list[Document]:
    return [json.loads(type(page).to_json(page, always_print_fields_with_no_presence=False)) for page in pages]


def theirs_aggregated(made: Wire) -> object:
    request = made.types.AggregatedListInstancesRequest(project="shop", filter='labels.a = "b c"', max_results=500)
    pages = made.pages("InstancesClient", "aggregated_list", request, "instances.aggregatedList")
    return [translate.page_of_zones(page) for page in as_documents(pages)]


def ours_aggregated(made: Wire) -> object:
    asked = {"filter": 'labels.a = "b c"', "maxResults": "500"}
    found = made.pages_of_instances("aggregated/instances", asked, "instances.aggregatedList", translate.page_of_zones)
    return list(found)


def theirs_list(made: Wire) -> object:
    request = made.types.ListInstancesRequest(project="shop", zone=ZONE, filter="labels.a:*", max_results=500)
    pages = made.pages("InstancesClient", "list", request, "instances.list")
    return [translate.page_of_zone(page) for page in as_documents(pages)]


def ours_list(made: Wire) -> object:
    asked = {"filter": "labels.a:*", "maxResults": "500"}
    return list(made.pages_of_instances(f"zones/{ZONE}/instances", asked, "instances.list", translate.page_of_zone))


def theirs_get(made: Wire) -> object:
    request = made.types.GetInstanceRequest(project="shop", zone=ZONE, instance="hc-x")
    return translate.machine(as_documents([made.read("InstancesClient", "get", request, "instances.get")])[0])


def ours_get(made: Wire) -> object:
    return made.instance(f"zones/{ZONE}/instances/hc-x", "instances.get", translate.machine)


WAYS: Mapping[str, tuple[Way, Way]] = {
    "aggregated": (theirs_aggregated, ours_aggregated),
    "list": (theirs_list, ours_list),
    "get": (theirs_get, ours_get),
}
BY_NAME = re.compile(r"\((ParseError|JSONDecodeError|NotJsonError|ValueError|UnicodeEncodeError)\)$")
"""What the SDK's JSON reader and ours call text that is no answer."""
OF_THE_CONNECTION = ("host", "user-agent", "accept-encoding", "connection", "accept")
ONLY_THEIRS = ("x-goog-api-version", "x-goog-request-params")
"""The path says which version of the API, and which zone and instance."""


def told(way: Way, made: Wire) -> object:
    """What comes of a question, an error by all that is said of it."""
    try:
        return way(made)
    except CloudError as error:
        after = error.retry_after if isinstance(error, ThrottledError) else None
        return type(error), BY_NAME.sub("(no JSON)", str(error)), error.call, error.hint, after


def asked(script: Script) -> list[object]:
    """The requests that came, as far as they matter."""
    left_out = {*OF_THE_CONNECTION, *ONLY_THEIRS}
    return [
        (r.method, r.path, r.query, {k: v for k, v in r.headers.items() if k not in left_out}, r.body)
        for r in script.asked
    ]


def compared(server: FakeServer, ways: tuple[Way, Way], script: Script, **changes: Any) -> object:
    """What comes of a question asked in both ways; the same has to come of it, and the same requests."""
    found = []
    for way in ways:
        mine = replace(script, asked=[])
        server.exchange(mine)  # type: ignore[arg-type]
        made = Wire(replace(SETTINGS, endpoint=server.url), lambda seconds: None)
        made._credentials = changes.get("credentials", lambda: None)()
        found.append((told(way, made), asked(mine)))
    assert found[0] == found[1]
    return found[0][0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reply", REPLIES)
def test_whatever_is_answered_means_what_the_sdk_takes_it_for(server: FakeServer, reply: str, way: str) -> None:
    compared(server, WAYS[way], Script((REPLIES[reply],)))


@pytest.mark.parametrize("way", ["aggregated", "list"])
def test_pages_are_asked_for_in_order_until_there_is_none(server: FakeServer, way: str) -> None:
    pages = [json_answer({"nextPageToken": f"t/{n} +&"}) for n in range(3)]
    assert len(compared(server, WAYS[way], Script((*pages, json_answer({}))))) == 4  # type: ignore[arg-type]
    late = compared(server, WAYS[way], Script((*pages, REPLIES["503"])))
    assert late[0].__name__ == "UnavailableError"  # type: ignore[index]


@pytest.mark.parametrize("way", ["aggregated", "list"])
def test_a_list_without_an_end_is_given_up(server: FakeServer, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_PAGES", 3)
    found = compared(server, WAYS[way], Script((json_answer({"nextPageToken": "again"}),)))
    assert found[0].__name__ == "UnavailableError"  # type: ignore[index]


def test_a_list_for_measurements_whose_pages_repeat_is_given_up(server: FakeServer) -> None:
    server.exchange(Script((*[json_answer({"nextPageToken": "again"})] * 2, REPLIES["503"])))  # type: ignore[arg-type]
    history = GoogleHistory(replace(SETTINGS, endpoint=server.url), lambda ask: ask())
    with pytest.raises(UnavailableError, match="that can be understood"):
        history.regions(SamplingWindow(0, 3600, 300))


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_is_waited_for_as_long(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server each: what was given up may come in later, and would be counted with the next test's requests."""
    monkeypatch.setattr(wire, "READ_SECONDS", 0.05)
    found = []
    for asking in WAYS[way]:
        with FakeServer(Script((json_answer({}),), slow=0.2)) as own:  # type: ignore[arg-type]
            found.append(told(asking, Wire(replace(SETTINGS, endpoint=own.url), lambda seconds: None)))
    assert found[0] == found[1]
    assert "Timeout" in found[0][1]  # type: ignore[index]


def test_nobody_listening_is_told_alike() -> None:
    made = [Wire(replace(SETTINGS, endpoint="http://127.0.0.1:9"), lambda seconds: None) for _ in range(2)]
    one, other = (told(way, wire_) for way, wire_ in zip(WAYS["get"], made, strict=True))
    assert one == other


# credentials


def user(**changes: Any) -> Any:
    """Credentials that hold a token and a project that pays for the quota."""
    from google.oauth2.credentials import Credentials

    return Credentials(**{"token": "a-token", "quota_project_id": "payer", **changes})


@pytest.mark.parametrize("way", WAYS)
def test_token_and_quota_project_go_along(server: FakeServer, way: str) -> None:
    script = Script((json_answer({}),))
    compared(server, WAYS[way], script, credentials=user)
    headers = server.cloud.asked[0].headers  # type: ignore[attr-defined]
    assert (headers["authorization"], headers["x-goog-user-project"]) == ("Bearer a-token", "payer")


def expiring() -> Any:
    """Credentials whose token is over, and that get a new one."""
    from google.auth.credentials import Credentials

    class Expiring(Credentials):  # type: ignore[misc]
        fetched = 0

        def refresh(self, request: object) -> None:
            self.fetched += 1
            self.token = f"token-{self.fetched}"

    return Expiring()


@pytest.mark.parametrize("way", WAYS)
def test_a_token_is_fetched_before_the_request_and_not_again_after_a_401(server: FakeServer, way: str) -> None:
    found = compared(server, WAYS[way], Script((REPLIES["401"],)), credentials=expiring)
    assert found[0] is CredentialsError  # type: ignore[index]
    sent = [r.headers["authorization"] for r in server.cloud.asked]  # type: ignore[attr-defined]
    assert sent == ["Bearer token-1"]


def broken() -> Any:
    """Credentials that cannot get a token."""
    from google.auth.credentials import Credentials
    from google.auth.exceptions import RefreshError

    class Broken(Credentials):  # type: ignore[misc]
        def refresh(self, request: object) -> None:
            raise RefreshError("invalid_grant: Token has been expired or revoked.")

    return Broken()


@pytest.mark.parametrize("way", WAYS)
def test_credentials_that_get_no_token_are_told(server: FakeServer, way: str) -> None:
    found = compared(server, WAYS[way], Script((json_answer({}),)), credentials=broken)
    assert found[0] is CredentialsError  # type: ignore[index]


# endpoints


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("variables", "host"),
    [
        ({}, "compute.googleapis.com"),
        ({"GOOGLE_API_USE_MTLS_ENDPOINT": "always"}, "compute.mtls.googleapis.com"),
        ({"GOOGLE_CLOUD_UNIVERSE_DOMAIN": "apis.example"}, "compute.apis.example"),
    ],
)
def test_the_sdk_says_where_and_over_which_session(
    variables: Mapping[str, str], host: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    made = Wire(SETTINGS, lambda seconds: None)
    made._credentials = user(universe_domain=variables.get("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "googleapis.com"))
    session = made.client("InstancesClient").transport._session
    urls: list[str] = []

    def refuse(method: str, url: str, **more: object) -> object:
        urls.append(url)
        raise OSError("no network in a test")

    monkeypatch.setattr(session, "request", refuse)
    one, other = (told(way_, made) for way_ in WAYS[way])
    assert one == other
    assert urls[0] == urls[1]
    assert urls[0].startswith(f"https://{host}/compute/v1/projects/shop/")


# pages


PAGES: tuple[object, ...] = (
    {"items": None},
    {"items": []},
    {"items": {"zones/a": None}},
    {"items": {"zones/a": {"instances": None}}},
    {"items": {"zones/a": {"instances": {}}}},
    {"items": {"zones/a": {"instances": [None]}}},
    {"items": {"zones/a": {"instances": [INSTANCE, INSTANCE]}, "zones/b": {}}},
    {
        "items": {
            "zones/a": {"warning": {"code": "UNREACHABLE"}},
            "zones/b": {"warning": {"code": "NO_RESULTS_ON_PAGE"}},
        }
    },
    {"items": {"zones/a": {"warning": {"code": 7}}}},
    {"items": {"zones/a": {"warning": None}}},
    {"unreachables": ["zones/a", "projects/shop/zones/b"]},
    {"unreachables": "zones/a"},
    {"unreachables": [None]},
    {"unreachables": [7]},
)
OF_A_ZONE: tuple[object, ...] = (
    {"items": None},
    {"items": {}},
    {"items": [None]},
    {"items": [INSTANCE]},
)


@pytest.mark.parametrize(("way", "page"), [*(("aggregated", p) for p in PAGES), *(("list", p) for p in OF_A_ZONE)])
def test_a_page_is_taken_as_by_the_sdk(server: FakeServer, way: str, page: object) -> None:
    compared(server, WAYS[way], Script((json_answer(page),)))


@pytest.mark.parametrize(
    ("way", "page"),
    [
        ("aggregated", []),
        ("aggregated", ""),
        ("aggregated", "items"),
        ("aggregated", {"items": {"zones/a": []}}),
        ("aggregated", {"items": {"zones/a": {"instances": ["x"]}}}),
        ("aggregated", {"items": {"zones/a": {"warning": []}}}),
        ("list", []),
        ("list", {"items": ["x"]}),
        ("get", []),
        ("get", {**INSTANCE, "scheduling": []}),
    ],
)
def test_a_list_or_a_word_in_place_of_an_object_is_no_answer(server: FakeServer, way: str, page: object) -> None:
    """The SDK takes both for an object without members, and so for a list of no machines."""
    server.exchange(Script((json_answer(page),)))  # type: ignore[arg-type]
    made = Wire(replace(SETTINGS, endpoint=server.url), lambda seconds: None)
    with pytest.raises(UnavailableError):
        WAYS[way][1](made)


def test_machines_are_those_that_the_sdk_reads() -> None:
    rig = GoogleRig()
    rig.open()
    try:
        rig.reset()
        launched = rig.cloud().launch(order(rig)).machines
        made = Wire(replace(SETTINGS, project=rig.fake.place.project, endpoint=rig.url), lambda seconds: None)
        where = {"project": rig.fake.place.project}
        request = made.types.AggregatedListInstancesRequest(**where, filter=translate.filter_of_lineage(LINEAGE))
        pages = as_documents(made.pages("InstancesClient", "aggregated_list", request, "instances.aggregatedList"))
        found = [m for page in pages for m in translate.page_of_zones(page).machines]
        assert sorted(found, key=lambda m: m.id) == list(rig.cloud().machines(LINEAGE))
        assert len(found) == len(launched) == 3
    finally:
        rig.close()
