"""Profile files: what is written is read back, and whatever else stands in a file is refused with its place."""

from __future__ import annotations

import dataclasses
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcloud.errors import InputError, UsageError
from hcloud.model.measured.profile import RESOURCES, Aspect, Measured, Metric, Profile
from hcloud.model.workload import JobKind
from hcloud.readers.applications.profiles import load_corpus, load_profile
from hcloud.store.profiles import check_target, profile_text, save_profile

AT = datetime(2026, 11, 21, 5, tzinfo=UTC)
texts = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda t: t == t.strip())
words = st.text(st.characters(codec="utf-8"))


@st.composite
def measured(draw: st.DrawFn, highest: float) -> Measured:
    low, value, high = sorted(draw(st.lists(st.floats(0, highest), min_size=3, max_size=3)))
    moment = draw(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
    return Measured(value, low, high, draw(st.integers(1, 10**6)), moment, draw(texts), draw(texts))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    reasons = draw(st.dictionaries(st.sampled_from(RESOURCES), texts))
    free = st.sampled_from([r for r in RESOURCES if r not in reasons] or ["none"])
    scores = st.dictionaries(free, measured(100.0)).map(lambda d: {k: v for k, v in d.items() if k in RESOURCES})
    figures = st.dictionaries(words, measured(1e300))
    entries = {a: draw(scores if a.is_interference else figures) for a in draw(st.sets(st.sampled_from(Aspect)))}
    return Profile(
        app=draw(texts),
        kind=draw(st.sampled_from(JobKind)),
        metric=Metric(draw(texts), draw(texts), draw(st.booleans())),
        command=tuple(draw(st.lists(words))),
        entries=entries,
        unmeasurable=reasons,
        notes=tuple(draw(st.lists(words))),
    )


@pytest.mark.slow
@given(profiles())
@settings(max_examples=8)
def test_what_is_written_is_read_back(profile: Profile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "app.yaml"
        save_profile(profile, path)
        assert load_profile(path) == profile
        written = path.read_bytes()
        save_profile(load_profile(path), path)
        assert path.read_bytes() == written


def one(**changes: object) -> Profile:
    score = Measured(40.0, 35.0, 45.0, 4, AT, "a machine", "stress-ng --memrate")
    base = Profile(
        app="redis",
        kind=JobKind.SERVICE,
        metric=Metric("p99", "ms", rising=False),
        command=("redis-server", "--port", "7000"),
        entries={
            Aspect.SCALE_UP: {"10c4g": score, "2c4g": score},
            Aspect.TOLERATED: {"membw": score, "llc": score},
        },
        unmeasurable={"l1i": "cores are separate"},
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def test_columns_stand_in_one_order() -> None:
    lines = [line.strip() for line in profile_text(one()).splitlines()]
    assert lines.index("llc:") < lines.index("membw:")
    assert lines.index('"2c4g":') < lines.index('"10c4g":')


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("app: redis", "app: redis\napp: twice", "repeats the key"),
        ("app: redis", "app: !!python/object/apply:os.system [id]", "cannot be read as YAML"),
        ("app: redis", "app: ''", "app: ''"),
        ("app: redis", "ap: redis", "did you mean app?"),
        ("kind: service", "kind: demon", "batch or service"),
        ("kind: service", "kind: {}", "batch or service"),
        ("value: 40.0", "value: .nan", "a finite number"),
        ("value: 40.0", "value: 1" + "0" * 400, "a finite number"),
        ("value: 40.0", "value: true", "a finite number"),
        ("value: 40.0", "value: 50.0", "has to lie in its interval"),
        ("samples: 4", "samples: 0", "a whole number from 1"),
        ("samples: 4", "samples: 1.5", "a whole number from 1"),
        ('at: "2026-11-21T05:00:00Z"', "at: 2026-11-21T05:00:00", "with its zone"),
        ('at: "2026-11-21T05:00:00Z"', 'at: "0001-01-01T00:00:00+14:00"', "with its zone"),
        ("machine: a machine", "machine: 3", "a text"),
        ("rising: false", "rising: perhaps", "true (more is better) or false"),
        ("membw:", "memwb:", "did you mean membw?"),
        ("l1i: cores", "llc: cores", "entries.tolerated has a value for it"),
        ("notes: []", "notes: [1]", "a list of texts"),
        ("notes: []", "notes: &a [*a]", "contains itself"),
        ('format_version: "1.0"', 'format_version: "2.0"', "this hcloud reads 1.0"),
        ("high: 45.0", "high: 145.0", "from 0 to 100"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = profile_text(one())
    assert old in text
    path = tmp_path / "profile.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as error:
        load_profile(path)
    assert message in str(error.value)


def test_all_problems_are_shown_at_once(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(profile_text(one()).replace("kind: service", "kind: x").replace("samples: 4", "samples: -1"))
    with pytest.raises(InputError, match="5 problems"):
        load_profile(path)


@pytest.mark.parametrize("content", ["", "[]", "text", "3", "entries: 3", "{entries: {tolerated: [1]}, command: x}"])
def test_any_other_yaml_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(content)
    with pytest.raises(InputError):
        load_profile(path)


def test_a_corpus_names_every_file_that_is_damaged(tmp_path: Path) -> None:
    save_profile(one(), tmp_path / "b.yaml")
    save_profile(one(app="other"), tmp_path / "a.yml")
    assert [p.app for p in load_corpus(tmp_path)] == ["other", "redis"]
    (tmp_path / "c.profile.yaml").write_text("a: [")
    (tmp_path / "d.profile.yaml").write_text("{}")
    with pytest.raises(InputError, match=r"(?s)c\.profile\.yaml.*d\.profile\.yaml") as caught:
        load_corpus(tmp_path)
    assert caught.value.hint.startswith("correct what is named, or move it to another folder")
    with pytest.raises(UsageError):
        load_corpus(tmp_path / "missing")


def test_a_description_of_an_application_beside_its_profile_is_no_profile(tmp_path: Path) -> None:
    """``--profiles .`` was refused where app.yaml or hcloud.yaml lay in the folder."""
    save_profile(one(), tmp_path / "redis.profile.yaml")
    (tmp_path / "app.yaml").write_text("name: redis\ntarget: {qps: 100, tail_ms: 10}\n")
    (tmp_path / "hcloud.yaml").write_text("planning: {}\n")
    assert [p.app for p in load_corpus(tmp_path)] == ["redis"]


def test_two_profiles_of_one_application_are_named(tmp_path: Path) -> None:
    """A simulation took the last of them; classify told of "two profiles of 'redis'" and of no file."""
    for name in ("a", "b"):
        save_profile(one(), tmp_path / f"{name}.profile.yaml")
    with pytest.raises(InputError, match=r"(?s)b\.profile\.yaml: app: 'redis' \(a\.profile\.yaml is a profile of it"):
        load_corpus(tmp_path)


def test_a_profile_only_replaces_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    save_profile(one(), path)
    save_profile(one(app="again"), path)
    assert load_profile(path).app == "again"
    path.write_text("precious: true\n")
    with pytest.raises(InputError, match="not overwritten"):
        save_profile(one(), path)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    for target, refused in ((link, InputError), (tmp_path, InputError), (tmp_path / "missing" / "p.yaml", UsageError)):
        with pytest.raises(refused):
            check_target(target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.yaml", "profile.yaml"]


def test_a_number_that_is_none_is_not_written(tmp_path: Path) -> None:
    broken = Measured(float("nan"), 0.0, 0.0, 1, AT, "m", "s")
    with pytest.raises(ValueError, match="finite"):
        save_profile(one(entries={Aspect.SCALE_UP: {"1c1g": broken}}), tmp_path / "p.yaml")
    assert list(tmp_path.iterdir()) == []
