"""One request to AWS at a time: only what is throttled sent again, within stated times, its failures translated."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from hcloud.errors import Call, MissingExtraError, UnavailableError, UsageError
from hcloud.model.catalog import Provider
from hcloud.model.endpoint import checked_endpoint, is_plain
from hcloud.providers.aws.errors import understood, without_answer
from hcloud.providers.aws.settings import AwsSettings
from hcloud.providers.throttled import Throttling

Document = Mapping[str, Any]
"""What an operation takes or gives, as the SDK has it."""

CONNECT_SECONDS = 5  # ours
ANSWER_SECONDS = 60  # ours: a launch of hundreds takes tens of seconds
CONNECTIONS = 32  # ours
MOST_PAGES = 10_000  # ours: an endless list is no list
ENDPOINT = "the endpoint of AWS (live.endpoint, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_EC2, endpoint_url)"
_OF_INSTANCES = re.compile("Instance|^(GetConsoleOutput|DescribeRegions)$")
_ENDS = "TerminateInstances"
_JSON = {"protocol": "json", "protocols": ["json"]}
"""What CloudWatch is spoken to in, of the protocols it has: the SDK reads the others in Python, value by value."""
_OWN_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".c2s.ic.gov", ".sc2s.sgov.gov")


class Caller:
    """Clients of one account in one region. The SDK's own retries are off: it would repeat stock-outs. With
    ``throttling`` what AWS throttles is sent again for a while, but for orders and purchases."""

    def __init__(self, settings: AwsSettings, throttling: Throttling | None = None) -> None:
        self.settings = settings
        self._throttling = throttling
        self._clients: dict[str, Any] = {}
        self._session: Any = None
        self._lock = threading.Lock()

    def ask(self, service: str, operation: str, request: Document, *, mutating: bool = False) -> Document:
        """The answer to a request."""
        if self._throttling is None or (mutating and operation != _ENDS):
            return self._once(service, operation, request, mutating=mutating)
        return self._throttling.asked(lambda: self._once(service, operation, request, mutating=mutating))

    def _once(self, service: str, operation: str, request: Document, *, mutating: bool) -> Document:
        try:
            from botocore import xform_name

            answer: Document = getattr(self._client(service), xform_name(operation))(**request)
        except ImportError:
            raise MissingExtraError("boto3", Provider.AWS) from None
        except UsageError:
            raise
        except Exception as error:
            # not chained: what the SDK's exception holds (signed headers) must not reach a trace that is shown
            raise understood(error, self.call(operation), mutating=mutating) from None
        return answer

    def pages(self, service: str, operation: str, request: Document, names: tuple[str, str]) -> Iterator[Any]:
        """All items of all pages; ``names`` are those of the list and of the token."""
        items, token = names
        asked: dict[str, Any] = dict(request)
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            answer = self.ask(service, operation, asked)
            yield from self.listed(answer, items, operation)
            following = answer.get(token)
            if not following:
                return
            if following in seen:
                break
            seen.add(str(following))
            asked[token] = following
        raise UnavailableError("the pages of the list have no end", self.call(operation))

    def listed(self, answer: Document, name: str, operation: str) -> list[Any]:
        """A list of an answer; one that is not there means that it was no answer of AWS, not that it is empty."""
        found = answer.get(name)
        if not isinstance(found, list):
            raise without_answer(f"the answer holds no {name}", self.call(operation), mutating=False)
        return found

    def call(self, operation: str) -> Call:
        """What is said of a request in messages."""
        return Call(Provider.AWS, self.settings.region, operation)

    def endpoint(self) -> str:
        """Where EC2 is, where that is not Amazon: set by us, the environment or the SDK's configuration."""
        url = str(self._client("ec2").meta.endpoint_url)
        return "" if (urlsplit(url).hostname or "").endswith(_OWN_HOSTS) else url

    def _client(self, service: str) -> Any:
        # making a client is not safe in threads, using it is
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._made(service)
            return self._clients[service]

    def _made(self, service: str) -> Any:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        from hcloud.providers.aws.answers import AnswerParsers

        settings = self.settings
        if self._session is None:
            self._session = Session(profile=settings.profile or None)
            self._session.register_component("data_loader", _models())
            self._session.register_component("response_parser_factory", AnswerParsers())
            if settings.access_key:
                self._session.set_credentials(*settings.access_key)
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=ANSWER_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=CONNECTIONS,
            user_agent_extra="hcloud-hybrid",
            proxies={} if is_plain(settings.endpoint) else None,  # what is not encrypted goes through no proxy
        )
        words = {"region_name": settings.region, "endpoint_url": settings.endpoint or None}
        try:
            made = self._session.create_client(service, **words, config=config)
        except ValueError as error:
            if isinstance(error, BotoCoreError):
                raise
            raise UsageError(f"{ENDPOINT} is no address", hint="write https://host") from None  # its words repeat it
        if is_plain(checked_endpoint(str(made.meta.endpoint_url), ENDPOINT)) and config.proxies is None:
            made = self._session.create_client(service, **words, config=config.merge(Config(proxies={})))
        return made


@lru_cache
def _models() -> Any:
    """The service models, read once for all accounts and regions: that of EC2 alone takes a tenth of a second.

    Of its 750 operations those stay that are asked for, and their neighbours: the SDK makes a method of each that it
    knows, which took half of the time of a client.
    """
    from botocore.loaders import Loader

    class Models(Loader):  # type: ignore[misc]
        @lru_cache  # noqa: B019  # there is one loader
        def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
            model = super().load_service_model(service_name, type_name, api_version)
            if (service_name, type_name) == ("cloudwatch", "service-2"):
                return {**model, "metadata": {**model["metadata"], **_JSON}}
            if (service_name, type_name) != ("ec2", "service-2"):
                return model
            return {**model, "operations": {n: o for n, o in model["operations"].items() if _OF_INSTANCES.search(n)}}

    return Models()
