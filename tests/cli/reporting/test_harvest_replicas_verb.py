"""``hcloud harvest replicas`` and ``audit``: what they print and write, and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harvesting import MONDAY, daily, util_csv
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.views.document import schema_of
from hcloud.views.harvesting.documents import HarvestAuditDocument, HarvestReplicasDocument

NOW = ("--now", "2026-11-20T12:00:00Z")
FEW = ("--blocks", "60", "--seeds", "2", *NOW)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """27 tenants of two servers, their reimages of 70 days and their use of two weeks, in the current directory."""
    monkeypatch.chdir(tmp_path)
    lines = ["server,tenant,environment,rack,cores,harvest_gib,market"]
    for at in range(54):
        market = ("reserved", "spot")[at % 2]
        lines.append(f"s{at},t{at // 2},e{at // 4},r{at // 6},16,20,{market}")
    Path("servers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chance = np.random.default_rng(3)
    log = ["server,time,kind"]
    for at in range(300):
        server = int(54 * chance.random() ** 3)
        log.append(f"s{server},{MONDAY + int(chance.random() * 70 * 86_400)},{('rebuild', 'interruption')[at % 2]}")
    Path("reimages.csv").write_text("\n".join(log) + "\n", encoding="utf-8")
    util_csv(Path("util.csv"), {f"t{at}": daily(14, mean=0.45 + 0.01 * at, phase=at / 27) for at in range(27)})
    return tmp_path


KNOWN = ("--servers", "servers.csv", "--reimages", "reimages.csv")


def document(capsys: Capture, *words: str) -> dict[str, Any]:
    assert run(["harvest", *words, "--json"]) == 0, capsys.readouterr().err
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_systems_stand_side_by_side_with_losses_and_failed_accesses(pool: Path, capsys: Capture) -> None:
    told = document(capsys, "replicas", *KNOWN, "--util", "util.csv", "--system", "history,random", *FEW)
    Draft202012Validator(schema_of(HarvestReplicasDocument)).validate(told)
    history, random = told["systems"]
    assert (history["system"], random["system"]) == ("history", "random")
    assert history["placed"] + sum(r["count"] for r in history["refused"]) == 120
    assert len(history["lost_by_year"]) == len(history["accesses_failed_by_seed"]) == 2
    assert {s["key"]: s["blocks"] for s in history["shared"]}["environment"] == 0
    assert {s["key"]: s["blocks"] for s in random["shared"]}["row"] > 0
    assert sum(random["accesses_failed_by_seed"]) > 0
    assert sum(c["space"] for c in told["grid"]) == pytest.approx(1.0)
    assert {m["market"] for m in told["grid"][0]["space_by_market"]} == {"reserved", "on-demand", "spot"}
    assert document(capsys, "replicas", *KNOWN, "--util", "util.csv", "--system", "history,random", *FEW) == told


def test_the_screen_says_what_is_unknown(pool: Path, capsys: Capture) -> None:
    assert run(["harvest", "replicas", "--servers", "servers.csv", *FEW]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "60 blocks in 3 copies on 54 servers of 27 tenants in 14 environments, 2 seeds each." in told
    assert "Blocks lost are unknown: --reimages names a log of reimages." in told
    assert "Failed accesses are unknown without the use of the servers (--util), and so are peaks" in told
    assert run(["harvest", "replicas", *KNOWN, *FEW, "-o", "md"]) == 0
    assert "| history |" in capsys.readouterr().out


def test_sets_that_are_written_are_audited(pool: Path, capsys: Capture) -> None:
    Path("blocks.csv").write_text("block,writer\nx,s5\ny,s9\nz\n", encoding="utf-8")
    words = ("--blocks", "blocks.csv", "--seeds", "1", "--group", "rack", "--out", "placement.jsonl", *NOW)
    document(capsys, "replicas", "--servers", "servers.csv", *words)
    head, *lines = [json.loads(line) for line in Path("placement.jsonl").read_text(encoding="utf-8").splitlines()]
    assert head == {"format_version": "1.0", "copies": 3}
    assert [line["block"] for line in lines] == ["x", "y", "z"]
    assert [line["servers"][0] for line in lines[:2]] == ["s5", "s9"]
    told = document(capsys, "audit", "placement.jsonl", *KNOWN, "--seeds", "2", *NOW)
    Draft202012Validator(schema_of(HarvestAuditDocument)).validate(told)
    assert (told["blocks"], told["copies"], told["without_reserved_copy"]) == (3, 3, 0)
    assert {s["key"]: s["blocks"] for s in told["shared"]}["rack"] == 0
    assert len(told["lost_by_year"]) == 2
    assert run(["harvest", "audit", "placement.jsonl", "--servers", "servers.csv"]) == 0
    assert "Expected losses are unknown" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 120])
def test_each_cell_of_the_grid_is_a_line(
    pool: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["harvest", "replicas", "--servers", "servers.csv", *FEW]) == 0
    cells = [re.split(" {2,}", line) for line in capsys.readouterr().out.splitlines() if "reimaged  " in line]
    assert [cell[0] for cell in cells] == ["lowest peak"] * 2 + ["row 2"] * 2 + ["highest peak"] * 2
    assert all(cell[3].endswith("%") for cell in cells)


def test_the_grid_is_drawn_with_what_lies_on_each_market(pool: Path, capsys: Capture) -> None:
    assert run(["harvest", "replicas", "--servers", "servers.csv", *FEW, "--picture", "grid.svg"]) == 0
    drawn = Path("grid.svg").read_text(encoding="utf-8")
    words = ("lowest peak", "highest peak", ">least<", ">most<", "reserved", "spot")
    assert [word for word in words if word not in drawn] == []
    assert "on-demand" not in drawn


def test_an_audit_names_what_copies_share_and_every_line_that_cannot_be(pool: Path, capsys: Capture) -> None:
    bad = ['{"block": "a", "servers": ["s0", "s1", "s2"]}', '{"block": "b", "servers": ["s0", "s99", "s3"]}']
    bad += ['{"block": "c", "servers": ["s0", "s0", "s3"]}', '{"block": "d", "servers": ["s0"]}', "{"]
    Path("bad.jsonl").write_text("\n".join(bad) + "\n", encoding="utf-8")
    assert run(["harvest", "audit", "bad.jsonl", "--servers", "servers.csv"]) == 1
    said = capsys.readouterr().err
    for words in ("line 2, servers: 's99'", "line 3, servers: s0, s0, s3", "line 4, servers: 1 copy", "line 5:"):
        assert words in said
    Path("good.jsonl").write_text(bad[0] + "\n", encoding="utf-8")
    told = document(capsys, "audit", "good.jsonl", "--servers", "servers.csv", *NOW)
    assert {s["key"]: s["blocks"] for s in told["shared"]}["tenant"] == 1


def test_an_audit_tells_of_no_rows_and_columns_where_nothing_is_known_that_makes_them(
    pool: Path, capsys: Capture
) -> None:
    """Sets that share no row were said to share one, all of them, where the use of the servers was left out."""
    use = ("--util", "util.csv")
    document(capsys, "replicas", *KNOWN, *use, *FEW, "--out", "p.jsonl")
    capsys.readouterr()
    keys = {}
    for words in ((*KNOWN, *use), KNOWN, ("--servers", "servers.csv", *use)):
        told = document(capsys, "audit", "p.jsonl", *words, "--seeds", "1", *NOW)
        keys[words] = {s["key"]: s["blocks"] for s in told["shared"]}
    whole, without_use, without_log = keys.values()
    assert (whole["row"], whole["column"]) == (0, 0)
    assert ("row" in without_use, without_use["column"]) == (False, 0)
    assert ("column" in without_log, "row" in without_log) == (False, True)
    assert run(["harvest", "audit", "p.jsonl", "--servers", "servers.csv"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Rows of the grid are unknown: --util" in said
    assert "Columns of the grid are unknown: --reimages" in said


def test_the_guard_of_diversity_ends_with_3_and_leaves_out_blocks_that_opt_out(pool: Path, capsys: Capture) -> None:
    document(capsys, "replicas", "--servers", "servers.csv", *FEW, "--out", "spread.jsonl", *NOW)
    good = Path("spread.jsonl").read_text(encoding="utf-8")
    alike = {"block": "alike", "servers": ["s0", "s1", "s2"]}
    asked = ("harvest", "audit", "file.jsonl", "--servers", "servers.csv", "--least-diverse")

    def ends(line: Mapping[str, object], share: str) -> tuple[int, str]:
        Path("file.jsonl").write_text(f"{good}{json.dumps(line)}\n", encoding="utf-8")
        code = run([*asked, share])
        told = capsys.readouterr()
        return code, " ".join((told.out + told.err).split())

    code, told = ends(alike, "1")
    assert code == 3
    assert "Take no more blocks" in told
    assert ends(alike, "0.5")[0] == 0
    assert ends({**alike, "guard": False}, "1")[0] == 0
    code, told = ends({**alike, "guard": "no"}, "1")
    assert code == 1
    assert "guard: 'no' (true, or false" in told


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--replicas", "10", "--blocks", "5"), 0, ""),
        (("--replicas", "1", "--blocks", "5"), 0, ""),
        (("--system", "histroy"), 64, "did you mean history?"),
        (("--group", "racks"), 64, "did you mean rack?"),
        (("--blocks", "0"), 64, "1 to 50,000,000"),
        (("--blocks", "1200"), 0, ""),
        (("--blocks", "2000"), 1, "need 6,000 places, and there are 4,320"),
        (("--blocks", "none.csv"), 1, "none.csv: no such file of blocks"),
        (("--blocks", "twice.csv"), 1, "line 3, block: 'x' (each block once)"),
    ],
)
def test_what_is_asked_has_to_be_possible(
    words: tuple[str, ...], code: int, said: str, pool: Path, capsys: Capture
) -> None:
    Path("twice.csv").write_text("x\ny\nx,s1\n", encoding="utf-8")
    assert (
        run(["harvest", "replicas", "--servers", "servers.csv", "--seeds", "1", "--system", "spread", *words]) == code
    )
    assert said in capsys.readouterr().err


def test_reimages_of_unknown_servers_are_all_named_and_a_short_log_is_no_evidence(pool: Path, capsys: Capture) -> None:
    rows = [f"s{at},{MONDAY + at * 86_400},{kind}" for at, kind in ((0, "disk"), (90, "disk"), (1, "fire"), (91, ""))]
    Path("reimages.csv").write_text("\n".join(["server,time,kind", *rows]) + "\n", encoding="utf-8")
    assert run(["harvest", "replicas", *KNOWN, *FEW]) == 1
    said = capsys.readouterr().err
    assert "line 3, column server: 's90' (a server of servers.csv)" in said
    assert "line 4, column kind: 'fire'" in said
    assert "line 5, column server: 's91'" in said
    Path("reimages.csv").write_text(f"server,time\ns0,{MONDAY}\ns1,{MONDAY + 86_400}\n", encoding="utf-8")
    assert run(["harvest", "replicas", *KNOWN, *FEW]) == 9
    assert "a year is drawn from weeks of them" in capsys.readouterr().err


def test_two_tenants_are_too_few_for_replicas(pool: Path, capsys: Capture) -> None:
    text = Path("servers.csv").read_text(encoding="utf-8").splitlines()
    Path("servers.csv").write_text("\n".join(text[:5]) + "\n", encoding="utf-8")
    assert run(["harvest", "replicas", "--servers", "servers.csv", *FEW]) == 9
    assert "2 tenants with space; replicas need 3" in capsys.readouterr().err


def test_scenarios_are_centres_by_name_with_use_and_reimages_of_their_own(pool: Path, capsys: Capture) -> None:
    assert run(["harvest", "replicas", "--servers", "scenario:centre-99", *FEW]) == 64
    assert "scenario:NAME of centre-0" in capsys.readouterr().err
    assert run(["harvest", "replicas", "--servers", "scenario:centre-9", "--util", "util.csv", *FEW]) == 64
    told = document(capsys, "types", "scenario:centre-0", *NOW)
    assert told["trust"]["alike"] >= 0.8
    assert {c["pattern"] for c in told["classes"]} == {"periodic", "constant", "unpredictable"}


def test_the_advice_on_the_use_of_servers_is_the_users_own_command(pool: Path, capsys: Capture) -> None:
    """It was 'hcloud harvest types', whose keys these verbs did not have."""
    util_csv(Path("percent.csv"), {f"t{at}": 100 * daily(14) for at in range(27)})
    document(capsys, "replicas", *KNOWN, *FEW, "--out", "placement.jsonl")
    for verb in (["replicas", *FEW], ["audit", "placement.jsonl", *NOW]):
        words = ["harvest", *verb, *KNOWN, "--util", "percent.csv"]
        assert run(words) == 1
        command = capsys.readouterr().err.partition("read it with: hcloud ")[2].split()
        assert command == [*words, "--harvest-set", "series_value=percent"]
        assert run(command) == 0
        capsys.readouterr()
