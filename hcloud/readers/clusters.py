"""The bundled document of clusters: strict keys, whole numbers of servers, and prices that are exact and not zero."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from hcloud.model.catalog import Provider
from hcloud.model.running.cluster import CapacityPrice, Cluster, ClusterBook, ServerType
from hcloud.readers.bundle import bundled
from hcloud.readers.stated import NumberWanted, Stated, read_document
from hcloud.units import parse_decimal

_HEAD = ("format_version", "name", "title", "source", "capacity", "clusters")
_PRICE = ("value", "origin", "source", "date", "why")
_CLUSTER = ("title", "origin", "source", "why", "sold_by", "types")
_TYPE = ("vcpus", "gib", "servers")
_COUNT = NumberWanted(1, 1_000_000, is_whole=True)


def load_clusters() -> ClusterBook:
    """The clusters that ship with hcloud; InputError with every problem of the document."""
    path = bundled("policies") / "clusters" / "clusters.yaml"
    return parse_clusters(read_document(path, "document of clusters"), str(path))


def parse_clusters(content: object, name: str) -> ClusterBook:
    """The clusters that a document states; ``name`` is the file that problems are reported for."""
    reading = _ClusterReading(name)
    book = reading.book(content)
    reading.refuse("document of clusters")
    return book


class _ClusterReading(Stated):
    """A document of clusters being read."""

    def book(self, content: object) -> ClusterBook:
        head = self.head(content, _HEAD)
        prices = self.mapping(head.get("capacity", {}), "capacity", ("vcpu_hourly", "gib_hourly"))
        vcpu, gib = (self._price(prices.get(key), f"capacity.{key}") for key in ("vcpu_hourly", "gib_hourly"))
        given = head.get("clusters")
        if not isinstance(given, dict) or not given:
            self.note("clusters", repr(given)[:60], "a mapping of at least one cluster")
            given = {}
        clusters = {str(name): self._cluster(str(name), stated) for name, stated in given.items()}
        return ClusterBook(clusters, CapacityPrice(vcpu[0], gib[0], *vcpu[1:]))

    def _price(self, content: object, where: str) -> tuple[Decimal, str, date]:
        stated = self.mapping(content, where, _PRICE)
        _, source = self.origin(stated, where)
        self.text(stated, "why", where)
        return self._decimal(stated.get("value"), f"{where}.value"), source, self._day(stated, where)

    def _day(self, stated: Mapping[str, object], where: str) -> date:
        value = stated.get("date")
        try:
            return date.fromisoformat(str(value))
        except ValueError:
            self.note(f"{where}.date", repr(value)[:60], "a day, for example 2026-07-30")
            return date.min

    def _decimal(self, value: object, where: str) -> Decimal:
        try:
            found = parse_decimal(value) if isinstance(value, str) else Decimal(0)
        except ValueError:
            found = Decimal(0)
        if found <= 0:
            self.note(where, repr(value)[:60], "a decimal number above 0, in quotes")
            return Decimal(1)
        return found

    def _cluster(self, name: str, content: object) -> Cluster:
        where = f"clusters.{name}"
        stated = self.mapping(content, where, _CLUSTER, ("source", "sold_by"))
        _, source = self.origin(stated, where)
        self.text(stated, "why", where)
        given = stated.get("types")
        if not isinstance(given, dict) or not given:
            self.note(f"{where}.types", repr(given)[:60], "a mapping of at least one type")
            given = {}
        types = tuple(self._type(str(n), t, f"{where}.types.{n}") for n, t in given.items())
        return Cluster(name, self.text(stated, "title", where), source, types, self._seller(stated, where))

    def _type(self, name: str, content: object, where: str) -> ServerType:
        stated = self.mapping(content, where, _TYPE)
        vcpus, servers = (int(self.number(stated, k, where, _COUNT)) for k in ("vcpus", "servers"))
        return ServerType(name, vcpus, self._decimal(stated.get("gib"), f"{where}.gib"), servers)

    def _seller(self, stated: Mapping[str, object], where: str) -> tuple[Provider, str] | None:
        if "sold_by" not in stated:
            return None
        given = self.mapping(stated["sold_by"], f"{where}.sold_by", ("provider", "region"))
        provider, region = (str(given.get(key)) for key in ("provider", "region"))
        if provider not in list(Provider):
            self.note(f"{where}.sold_by.provider", repr(provider), ", ".join(Provider))
            return None
        return Provider(provider), region
