"""Cloud models from files: strict keys, every number with its origin, and distributions that are distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from hcloud.errors import Problem
from hcloud.model.running.cloud import CLOUD_KEYS, CloudModel, Quantiles, SizeModel
from hcloud.model.running.strategy import Parameter, ParameterOrigin, Value
from hcloud.readers.bundle import bundled
from hcloud.readers.stated import Stated, document_bytes, document_in, find_file

PAPER, CLUSTERS = "paper", "clusters"
_HEAD = ("format_version", "name", "title", "source", "sections", "sizes")
_QUANTILES = ("probabilities", "values", "origin", "source", "why")
_DISTRIBUTIONS = {"spin_up": (0.0, 86_400.0), "spread": (1e-6, 1000.0), "slowness": (1e-6, 1000.0)}
_MOST_VCPUS = 1024
_FAULTS = "faults"
_FAULTLESS = tuple(
    Parameter(k.name, 0, k.unit, ParameterOrigin.OURS, "", "Not stated: nothing fails.") for k in CLOUD_KEYS[_FAULTS]
)
_PHASES = "phases"
_USUAL_PHASES: Mapping[str, Value] = {
    "share": 0, "begins": (0.2, 0.7), "lasts": (0.1, 0.6), "need": (0.5, 2.0), "pressure": (0.5, 2.0)
}  # fmt: skip
"""Ours: where a model states nothing, no job has phases; the rest is there to be varied with the share."""
_PHASELESS = tuple(
    Parameter(k.name, _USUAL_PHASES[k.name], k.unit, ParameterOrigin.OURS, "", "Not stated: no job changes.")
    for k in CLOUD_KEYS[_PHASES]
)
_STAND_IN = Quantiles((0.0, 1.0), (1.0, 1.0))


def cloud_names() -> tuple[str, ...]:
    """The names of the bundled cloud models, the study's first, without reading a file."""
    found = {path.stem for path in _folder().glob("*.yaml")}
    return tuple(sorted(found, key=lambda name: (name != PAPER, name)))


def load_cloud(name_or_path: str) -> CloudModel:
    """A bundled cloud model by its name (in any case), or the user's own by the path of its file.

    Raises UsageError where there is no such model or file, InputError with every problem of a file.
    """
    return read_cloud(find_file(name_or_path, cloud_names(), _folder(), "cloud model"))


def read_cloud(path: Path) -> CloudModel:
    """The cloud model in a file; raises InputError with everything that is wrong with it."""
    return _in(document_bytes(path, "cloud model"), str(path))


@lru_cache(maxsize=32)  # a plan reads the same few up to five times, and a study for each of its runs
def _in(data: bytes, name: str) -> CloudModel:
    return parse_cloud(document_in(data, name, "cloud model"), name)


def parse_cloud(content: object, name: str) -> CloudModel:
    """The cloud model that a document states; ``name`` is the file that problems are reported for."""
    reading = _CloudReading(name)
    model = reading.cloud(content)
    if not reading.problems:
        reading.problems += [Problem(name, where, what, why) for where, what, why in misfits(model)]
    reading.refuse("cloud model")
    return model


def misfits(model: CloudModel) -> Iterable[tuple[str, str, str]]:
    """Numbers that cannot stand together: where, what stands there and what it would need."""
    mean, swing = model.number("neighbours", "mean_load"), model.number("neighbours", "amplitude")
    if swing > min(mean, 1 - mean) + 1e-12:
        yield "sections.neighbours.amplitude.value", f"{swing:g}", "the load must stay within 0 and 1"
    for section in ("jobs", _PHASES):
        for key in CLOUD_KEYS[section]:
            if key.kind == "numbers" and len(given := model.numbers(section, key.name)) != 2:
                yield f"sections.{section}.{key.name}.value", repr(given), "two numbers: the least and the most"
    for before, after in pairwise(s.vcpus for s in model.sizes):
        if before >= after:
            yield "sizes", f"{before}, {after}", "in rising order of vcpus, each size once"


def _folder() -> Path:
    return bundled("policies") / "clouds"


class _CloudReading(Stated):
    """A cloud model being read."""

    def cloud(self, content: object) -> CloudModel:
        head = self.head(content, _HEAD)
        given = self.mapping(head.get("sections", {}), "sections", tuple(CLOUD_KEYS), (_FAULTS, _PHASES))
        sections = {s: self.parameters(CLOUD_KEYS[s], given[s], f"sections.{s}") for s in CLOUD_KEYS if s in given}
        sections.setdefault(_FAULTS, _FAULTLESS)
        sections.setdefault(_PHASES, _PHASELESS)
        name, title, source = (self.text(head, key) for key in ("name", "title", "source"))
        return CloudModel(name, title, source, sections, self._sizes(head.get("sizes", ())))

    def _sizes(self, content: object) -> tuple[SizeModel, ...]:
        if not isinstance(content, list) or not content:
            self.note("sizes", repr(content)[:60], "a list of at least one size")
            return ()
        return tuple(self._size(size, f"sizes[{i}]") for i, size in enumerate(content))

    def _size(self, content: object, where: str) -> SizeModel:
        stated = self.mapping(content, where, ("vcpus", *_DISTRIBUTIONS))
        vcpus = stated.get("vcpus", 1)
        if not isinstance(vcpus, int) or isinstance(vcpus, bool) or not 1 <= vcpus <= _MOST_VCPUS:
            self.note(f"{where}.vcpus", repr(vcpus)[:60], f"a whole number from 1 to {_MOST_VCPUS}")
            vcpus = 1
        spin_up, spread, slowness = (self._quantiles(stated, which, where) for which in _DISTRIBUTIONS)
        return SizeModel(vcpus, spin_up, spread, slowness)

    def _quantiles(self, size: Mapping[str, object], which: str, within: str) -> Quantiles:
        if which not in size:
            return _STAND_IN
        where = f"{within}.{which}"
        stated = self.mapping(size[which], where, _QUANTILES, ("source",))
        self.origin(stated, where)
        self.text(stated, "why", where)
        if "probabilities" not in stated or "values" not in stated:
            return _STAND_IN
        probabilities = self._numbers(stated["probabilities"], f"{where}.probabilities", (0.0, 1.0))
        values = self._numbers(stated["values"], f"{where}.values", _DISTRIBUTIONS[which])
        if probabilities and values:
            self._check(probabilities, values, where)
        return Quantiles(probabilities, values)

    def _numbers(self, content: object, where: str, bounds: tuple[float, float]) -> tuple[float, ...]:
        least, most = bounds
        items = content if isinstance(content, list) else []
        usable = [v for v in items if isinstance(v, int | float) and not isinstance(v, bool) and least <= v <= most]
        if not items or len(usable) < len(items):
            wrong = next((v for v in items if v not in usable), content)
            self.note(where, repr(wrong)[:60], f"a list of numbers from {least:g} to {most:g}")
            return ()
        return tuple(map(float, usable))

    def _check(self, probabilities: tuple[float, ...], values: tuple[float, ...], where: str) -> None:
        if len(probabilities) != len(values):
            self.note(where, f"{len(probabilities)} and {len(values)}", "as many values as probabilities")
        if (probabilities[0], probabilities[-1]) != (0.0, 1.0) or not _rises(probabilities):
            self.note(f"{where}.probabilities", repr(probabilities)[:60], "must rise strictly from 0 to 1")
        if any(a > b for a, b in pairwise(values)):
            self.note(f"{where}.values", repr(values)[:60], "must never fall")


def _rises(numbers: tuple[float, ...]) -> bool:
    return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
