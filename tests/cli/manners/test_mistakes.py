"""The most likely mistakes: each is answered by what is wrong, where, why and what to do next, with its exit code."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from hcloud.cli.main import run
from hcloud.installation import install_command
from hcloud.usecases.tools.fake import Up, exports

ROOT = Path(__file__).resolve().parents[3]
TRACE = ROOT / "examples" / "own-trace" / "trace.csv"
pytestmark = pytest.mark.usefixtures("quick_starts")
HCLOUD = [sys.executable, "-m", "hcloud"]
NOW = ("--now", "2026-11-20T12:00:00Z")
FLEET = [{"address": "web", "instance_type": "m5.large", "count": 2}]
Told = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the processes that are started here
    for name in ("CI", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    shutil.copy(TRACE, tmp_path / "trace.csv")


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs a line and gives its exit code, what went to stdout, and what was said, without line ends."""

    def ask(line: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(line.split())
        out, err = capsys.readouterr()
        return code, out, " ".join(err.split())

    return ask


def configured(**sections: Any) -> None:
    Path("hcloud.yaml").write_text(yaml.safe_dump(sections), encoding="utf-8")


def rehearsing(**more: Any) -> None:
    configured(live={"cloud": "fake", "project": "demo"}, fleet=FLEET, **more)


MISSPELT = [
    ("pln", 64, "Did you mean 'plan'"),
    ("state lst", 64, "Did you mean 'list'?"),
    ("plan --horizn 1y", 64, "Did you mean --horizon"),
    ("plan trace.csv --provider asw", 64, "did you mean aws?"),
    ("simulate trace.csv -s HM --provider azur", 64, "did you mean azure?"),
    ("plan trace.csv --region us-eats-1", 64, "did you mean us-east-1?"),
    ("plan trace.csv --family m6ii", 64, "did you mean m6i?"),
    ("plan trace.csv -s HX", 64, "did you mean HM?"),
    ("plan scenario:statc", 64, "did you mean static?"),
    ("plan trace.csv --format jobs-cvs", 64, "did you mean jobs-csv?"),
    ("plan trace.csv --set default_crs=2", 64, "did you mean default_cores?"),
    ("pricing show m6i.lrage", 9, "did you mean m6i.large"),
    ("pricing show m6i.large --region us-eats-1", 64, "did you mean us-east-1?"),
    ("pricing import trace.csv --format own-cvs", 64, "did you mean own-csv?"),
    ("classify gzp", 64, "did you mean gzip?"),
    ("classify gzip --aspect tolerted", 64, "did you mean tolerated?"),
    ("profile run --resources membew -- true", 64, "did you mean membw?"),
    ("plan --cloud was", 64, "did you mean aws?"),
    ("fake up azur", 64, "did you mean azure?"),
    ("iam print --cloud aws --for reed", 64, "did you mean read?"),
    ("doctor --require gpc", 64, "did you mean gcp?"),
    ("plan trase.csv", 1, "did you mean trace.csv?"),
    ("simulate trace.csv --pool 1000000", 64, "'1000000' must be 100000 or less"),
    ("plan trace.csv --vcpus 99999999999", 64, "'99999999999' must be 1024 or less"),
    ("fake up aws --port x", 64, "'x' must be a whole number"),
    ("slurm config --type a=1x2 --cloud asw", 64, "did you mean aws?"),
]


CONTRADICTIONS = [
    ("status --cloud fake --json -o csv", "--json and --output csv name two forms"),
    ("plan trace.csv --state there", "--state says what is remembered of a cloud, and none is named"),
    ("plan trace.csv --family m6i --cloud fake:gcp", "the plan is for aws us-east-1"),
    ("apply --resume --cloud fake", "--resume finishes a plan that was interrupted, and none is named"),
    ("gc --cloud fake --ends 2", "--ends and --yes are of --delete"),
    ("gc --cloud fake -y", "--ends and --yes are of --delete"),
    ("operate status --watch --json", "--watch refreshes a screen"),
    (
        "operate run jobs.csv --cloud fake --engine none --plan plan.json --family m5",
        "--family m5: the types are those",
    ),
    ("operate stop --force --keep-machines", "--force ends machines, and --keep-machines keeps them"),
]


@pytest.mark.parametrize(("line", "said"), CONTRADICTIONS)
def test_flags_that_contradict_each_other_are_refused_and_none_wins_in_silence(
    line: str, said: str, told: Told
) -> None:
    code, out, err = told(line)
    assert (code, out) == (64, "")
    assert said in err
    assert not Path(".hcloud").exists()


@pytest.mark.parametrize(("line", "code", "guess"), MISSPELT)
def test_a_name_that_is_misspelt_is_answered_with_the_one_that_is_meant(
    line: str, code: int, guess: str, told: Told
) -> None:
    got, out, said = told(line)
    assert (got, out) == (code, "")
    assert guess in said


def test_a_misspelt_type_or_region_of_a_fleet_is_no_missing_price(told: Told) -> None:
    configured(live={"cloud": "fake"}, fleet=[{**FLEET[0], "instance_type": "m5.lrage"}])
    code, _, said = told("plan")
    assert code == 9
    assert "knows no instance type 'm5.lrage'; did you mean m5.large?" in said
    configured(live={"cloud": "fake", "region": "us-eats-1"}, fleet=FLEET)
    code, _, said = told("plan")
    assert code == 64
    assert "'us-eats-1'; did you mean us-east-1?" in said


@pytest.mark.parametrize(
    ("sections", "guess"),
    [
        ({"workload": {"pth": "trace.csv"}}, "did you mean path?"),
        ({"markets": [{"provider": "was"}]}, "did you mean aws?"),
        ({"plannig": {}}, "did you mean planning?"),
    ],
)
def test_a_misspelt_key_of_the_configuration(sections: dict[str, Any], guess: str, told: Told) -> None:
    configured(**sections)
    code, _, said = told("plan trace.csv")
    assert code == 1
    assert guess in said


def test_a_misspelt_key_in_the_environment(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYC_PLANNING__HORIZN", "1y")
    code, _, said = told("plan trace.csv")
    assert code == 1
    assert "did you mean planning.horizon?" in said


@pytest.fixture
def zoo(told: Told) -> None:
    """A file of every sort, under names that say nothing."""
    configured(prices={"book": "bundled"}, markets=[{"provider": "aws", "families": ["m6i"], "vcpus": 16}])
    assert told(f"plan trace.csv --out plan -q {' '.join(NOW)}")[0] == 0
    shutil.copy("hcloud.yaml", "configuration")
    Path("events.jsonl").write_text('{"at": 0, "event": "arrival", "job": "a", "cores": 2, "memory_gib": 4}\n')
    words = [*HCLOUD, "decide", "--strategy", "HM", "--pool", "2", "--plain", "--journal", "journal"]
    with Path("events.jsonl").open("rb") as events:
        done = subprocess.run(words, check=False, stdin=events, capture_output=True)
    assert done.returncode == 0
    rehearsing()
    assert told("apply -y")[0] == 0
    shutil.copy(".hcloud/state.json", "state")
    shutil.copy(ROOT / "profiles" / "gzip.profile.yaml", "profile")
    Path("hcloud.yaml").unlink()


WRONG_SORT = [
    ("plan plan", "plan: is a plan, not a workload", "'hcloud explain', 'simulate', 'compare' and 'apply' read it"),
    ("plan configuration", "is a configuration, not a workload", "--file"),
    ("workload show journal", "no usable job in 1 row:", "had not ended when the journal did"),
    ("explain trace.csv", "is a job trace, not a plan", "hcloud workload show"),
    ("explain configuration", "is a configuration, not a plan", "hcloud validate"),
    ("explain state", "is a state, not a plan", "hcloud state show"),
    ("apply journal", "is a journal, not a plan", "--job"),
    ("apply state", "is a state, not a plan", "hcloud state show"),
    ("explain plan --job a", "is a plan, not a journal", "hcloud explain"),
    ("iam print trace.csv", "is a job trace, not a plan", "hcloud plan"),
    ("commit plan trace.csv --out x.json --cloud fake", "is a job trace, not a plan", "hcloud plan"),
    ("state push plan", "is a plan, not a state", "'apply'"),
    ("plan -f plan", "is a plan, not a configuration", "hcloud explain"),
    ("profile show plan", "is a plan, not a profile", "hcloud explain"),
    ("pricing import plan", "is a plan, not a price file", "hcloud explain"),
    ("plan --cloud fake:trace.csv", "is a job trace, not a fault plan", "hcloud plan"),
]


@pytest.mark.usefixtures("zoo")
def test_a_file_of_another_sort_is_named_with_the_verb_that_reads_it(told: Told) -> None:
    for line, what, verb in WRONG_SORT:
        code, out, said = told(line)
        assert (code, out) == (1, ""), line
        assert what in said, line
        assert verb in said, line
        assert said.count("error:") == 1, line


NO_FILES = [
    ("plan nowhere.csv", 1, "nowhere.csv: no such workload", "scenario:static"),
    ("explain nowhere.json", 1, "nowhere.json: no such plan", "hcloud plan --out FILE"),
    ("apply nowhere.json", 1, "nowhere.json: no such plan", "hcloud plan --out FILE"),
    ("plan folder", 1, "folder: is an empty directory", "a folder with one file a machine"),
    ("explain folder", 1, "folder: is a directory, not a plan", "name a file in it"),
    ("plan -f folder", 64, "folder: is a directory, not a configuration", "hcloud init"),
    ("plan empty", 1, "empty is empty", "look at the program that should have written it"),
    ("explain empty", 1, "empty: is empty, not a plan", "look at the program that should have written it"),
    ("plan program", 1, "program: is a program, not a workload", "look at the name"),
    ("plan jobs.csv.xz", 1, "jobs.csv.xz: is packed by xz, bzip2 or 7-Zip, not a workload", "unpack it: xz -dk"),
    ("explain program", 1, "program: is a program, not a plan", "look at the name"),
    ("plan book.xlsx", 1, "an Excel workbook, not a workload", "save the sheet as CSV"),
    ("plan wide.csv", 1, "wide.csv is UTF-16 text", "save it as UTF-8"),
    ("plan -f wide.csv", 1, "is UTF-16 text, not a configuration", "save it as UTF-8"),
]


@pytest.mark.parametrize(("line", "code", "what", "hint"), NO_FILES)
def test_a_file_that_is_not_there_empty_binary_or_in_another_encoding(
    line: str, code: int, what: str, hint: str, told: Told
) -> None:
    Path("folder").mkdir()
    Path("empty").touch()
    Path("jobs.csv.xz").write_bytes(b"\xfd7zXZ\0" + bytes(60))
    Path("program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    Path("book.xlsx").write_bytes(b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(60))
    Path("wide.csv").write_text(TRACE.read_text(encoding="utf-8"), encoding="utf-16")
    got, out, said = told(line)
    assert (got, out) == (code, "")
    assert what in said
    assert f"hint: {hint}" in said or hint in said


def test_a_byte_order_mark_is_no_mistake(told: Told) -> None:
    Path("marked.csv").write_text(TRACE.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert told("workload validate marked.csv")[0] == 0


def columns_changed(change: Callable[[list[str]], list[str]], separator: str = ",") -> None:
    rows = [line.split(",") for line in TRACE.read_text(encoding="utf-8").splitlines()]
    Path("other.csv").write_text("".join(separator.join(change(row)) + "\n" for row in rows), encoding="utf-8")


def test_a_trace_without_sizes_is_planned_and_told(told: Told) -> None:
    """That each of its jobs was taken for one of 1 vCPU was told in other verbs only."""
    columns_changed(lambda row: row[:3] + row[5:])
    code, _, said = told(f"plan other.csv --family m6i -q {' '.join(NOW)}")
    assert code == 0
    none = "no column of the workload is read as"
    assert f"{none} memory; assumed: 4 GiB per vCPU (workload.options.memory_per_core)" in said
    assert f"{none} cores; assumed: 1 vCPU for each job (workload.options.default_cores)" in said
    assert f"{none} memory" in " ".join(told(f"simulate other.csv -s SR {' '.join(NOW)}")[1].split())


def test_other_names_of_the_columns_that_are_needed_are_met_with_what_reads_them(told: Told) -> None:
    Path("other.csv").write_text("job_id,start_time,end_time,vcpus\nx,0,3600,4\n", encoding="utf-8")
    code, _, said = told("plan other.csv")
    assert code == 1
    assert "--columns id=job_id,submit=start_time,end=end_time,cores=vcpus" in said
    assert "extra_columns" not in said


def test_a_column_of_vcpus_by_another_name_is_not_taken_for_gpus(told: Told) -> None:
    Path("other.csv").write_text("job_id,submit_time,run_time,cpus,mem\nx,0,3600,4,16\n", encoding="utf-8")
    code, _, said = told("plan other.csv")
    assert code == 1
    assert "--columns id=job_id,submit=submit_time,duration=run_time,cores=cpus" in " ".join(said.split())
    assert "gpus" not in said


@pytest.mark.usefixtures("coarse_steps")
def test_times_in_milliseconds_are_noticed(told: Told) -> None:
    rows = ("id,submit,duration,cores,memory", "x,0,3600000,4,16", "y,160000000,3600000,4,16")
    Path("other.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for line in (f"plan other.csv --family m6i -q {' '.join(NOW)}", "workload show other.csv -q"):
        code, _, said = told(line)
        assert code == 0
        assert "spans 5 years: times are read as seconds; if they are milliseconds, divide them by 1000" in said


def test_a_negative_duration_is_named_with_its_line(told: Told) -> None:
    columns_changed(lambda row: [*row[:2], "-3600", *row[3:]] if row[0] == "shop-00-03" else row)
    code, _, said = told("plan other.csv")
    assert code == 1
    assert "other.csv: line 5, column duration: '-3600' (a number from 0 to 1e+09)" in said


def test_decimal_commas_are_told_as_such(told: Told) -> None:
    columns_changed(lambda row: [*row[:3], "36,5" if row[3] == "36" else row[3], *row[4:]], ";")
    code, _, said = told("plan other.csv")
    assert code == 1
    assert "column cores: '36,5'" in said
    assert said.rstrip().endswith("--decimal ,")


READ_ONLY = [
    "plan trace.csv --out {}/plan.json",
    "workload show trace.csv --out {}/demand.png",
    "workload convert trace.csv --to {}/own.csv",
    "init --dir {}/deeper",
    "classify gzip --save-matrices {}/m.json",
]


@pytest.mark.parametrize("line", READ_ONLY)
def test_a_place_that_cannot_be_written_to(line: str, told: Told) -> None:
    where = "/proc/self"  # read-only for everybody, root too
    code, out, said = told(line.format(where))
    assert code in (1, 64)
    assert out == ""
    assert where in said
    assert "Errno" not in said
    assert "bug" not in said


@pytest.fixture
def full_disk(tmp_path: Path) -> Path:
    """A file system that has no room; only root can make one."""
    place = tmp_path / "full"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,nr_inodes=20", "tmpfs", str(place)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("mounting needs root; tests/faults has the state on a full disk")
    return place


@pytest.mark.parametrize(
    "line",
    [
        "plan trace.csv --family m6i --out full/plan.json",
        "workload show trace.csv --out full/demand.png",
        "workload convert trace.csv --to full/own.csv",
        "classify gzip --save-matrices full/m.json",
    ],
)
def test_a_full_disk_is_said_in_a_sentence_and_leaves_nothing_behind(line: str, told: Told, full_disk: Path) -> None:
    try:
        (full_disk / "other").write_bytes(bytes(12_000))
        code, out, said = told(line)
        left = sorted(p.name for p in full_disk.iterdir())
    finally:
        subprocess.run(["umount", str(full_disk)], check=True)
    assert (code, out) == (1, "")
    assert "full/" in said
    assert "cannot be written: no space left on device" in said
    assert "hint: free some space, or choose another place; the old file is unchanged" in said
    assert left == ["other"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_behind_stdout_is_said_once() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*HCLOUD, "strategy", "list"], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be used: no space left on device")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_what_a_disk_takes_in_part_is_an_error_where_nothing_buffers_stdout(full_disk: Path) -> None:
    """Containers set PYTHONUNBUFFERED; the result was cut short, and the exit code 0."""
    own = {**os.environ, "PYTHONUNBUFFERED": "1"}
    try:
        with (full_disk / "prices.csv").open("wb") as file:
            words = [*HCLOUD, "pricing", "list", "--provider", "aws", "--region", "us-east-1", "-o", "csv"]
            done = subprocess.run(words, check=False, stdout=file, stderr=subprocess.PIPE, text=True, env=own)
        assert (full_disk / "prices.csv").stat().st_size > 0
    finally:
        subprocess.run(["umount", str(full_disk)], check=True)
    assert (done.returncode, "no space left on device" in done.stderr) == (1, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
@pytest.mark.parametrize(("words", "code"), [(["strategy", "list"], 0), (["plan", "--nonsense"], 64)])
def test_a_full_disk_behind_stderr_changes_nothing_but_what_is_said_there(words: list[str], code: int) -> None:
    """A log on a full disk ended live work, which goes on where its own disk is full."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*HCLOUD, *words], check=False, stdout=subprocess.PIPE, stderr=full, text=True)
    assert (done.returncode, "SR" in done.stdout) == (code, code == 0)


@pytest.mark.parametrize("words", [["--version"], ["-q", "--version"], ["--show-completion", "bash"]])
def test_who_does_not_read_what_is_answered_without_a_verb_is_no_error(words: list[str]) -> None:
    """It was a stack trace and exit code 1."""
    reading, writing = os.pipe()
    os.close(reading)
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*HCLOUD, *words], check=False, stdout=writing, stderr=subprocess.PIPE, text=True, env=own)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("words", "closed"),
    [("strategy list", "<&- >&- 2>&-"), *(("--version", closed) for closed in ("<&- >&- 2>&-", ">&-", "2>&-", "<&-"))],
)
def test_a_stream_that_is_closed_leads_nowhere(words: str, closed: str) -> None:
    """It was an AttributeError, and the next file that was opened, a journal, would have been taken for stdout."""
    line = f"exec {shlex.quote(sys.executable)} -m hcloud {words} {closed}"
    own = {**os.environ, "PYTHONPATH": str(ROOT)}  # no quick start, which hands its own streams on
    done = subprocess.run(["sh", "-c", line], check=False, capture_output=True, text=True, env=own)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a stream is")
def test_what_is_begun_has_a_stream_too_where_one_was_closed() -> None:
    """It was closed there again, and the first file that a program opened was taken for its stdin."""
    began = "import subprocess; subprocess.run(['readlink', '/proc/self/fd/0'])"
    code = f"import sys; sys.argv[1:] = ['--version']; from hcloud.__main__ import main; main(); {began}"
    line = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)} <&-"
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", line], check=False, capture_output=True, text=True, env=own)
    assert done.stdout.splitlines()[1:] == [os.devnull]


def test_an_extra_that_is_not_installed_is_named_with_its_command() -> None:
    code = (
        "import sys; sys.modules['boto3'] = None; sys.modules['botocore'] = None\n"
        "from hcloud.cli.main import run; sys.exit(run(['status', '--cloud', 'aws']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "boto3 is not installed" in done.stderr
    assert install_command("aws") in " ".join(done.stderr.split())


def test_missing_credentials_say_whose_and_how_to_get_new_ones(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(Path.cwd()))
    code, _, said = told("status --cloud aws")
    assert code == 1
    assert "aws us-east-1 GetCallerIdentity: Unable to locate credentials" in said
    assert "aws sso login" in said
    assert "needs no account: --provider aws" in told("plan trace.csv --cloud aws")[2]
    code, _, said = told("status --cloud gcp")
    assert code == 64
    assert "no project is configured" in said
    assert "set GOOGLE_CLOUD_PROJECT" in said
    assert "needs no account: --provider gcp" in said


def test_an_old_price_is_named_with_the_age_that_is_allowed(told: Told) -> None:
    code, _, said = told(f"plan trace.csv --max-price-age 30d {' '.join(NOW)}")
    assert code == 9
    assert "days old" in said
    assert "hcloud pricing refresh" in said


def test_no_price_for_a_type_is_no_cheapest_type(told: Told) -> None:
    rehearsing()
    configured(live={"cloud": "fake"}, fleet=[{**FLEET[0], "option": "spot", "instance_type": "m1.small"}])
    code, _, said = told("plan")
    assert code == 9
    assert "hcloud pricing" in said


def test_a_state_that_others_can_write_to(told: Told) -> None:
    rehearsing()
    assert told("apply -y")[0] == 0
    Path(".hcloud").chmod(0o777)
    code, _, said = told("status")
    assert code == 1
    assert "others than its owner can write to it (mode 0777) hint: chmod go-w .hcloud" in said


def test_another_account_than_the_configurations(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsing()
    assert told("apply -y")[0] == 0
    code, _, said = told("status --cloud fake:gcp")
    assert code == 4
    assert "this state belongs to aws" in said
    assert "use the credentials, region and endpoint of the state, or another state" in said


def test_apply_without_a_plan_and_without_a_cloud(told: Told) -> None:
    code, _, said = told("apply")
    assert code == 64
    assert "no cloud given hint: --cloud aws, gcp, azure, local, fake; or live.cloud of hcloud.yaml" in said


def test_without_a_cloud_that_of_the_state_is_named(told: Told) -> None:
    """A plan made with --cloud was applied without it; then 'status' asked for a cloud and did not say which."""
    configured(live={"project": "demo"}, fleet=FLEET)
    assert told("apply --cloud fake:aws -y")[0] == 0
    code, _, said = told("status")
    assert code == 64
    assert "no cloud given hint: of the state in .hcloud: --cloud fake:aws; else --cloud aws, gcp" in said
    assert told("status --cloud fake:aws")[0] == 0


def test_a_stale_plan_says_what_moved_and_what_to_do(told: Told) -> None:
    rehearsing()
    assert told("plan --out plan.json")[0] == 0
    assert told("apply plan.json -y")[0] == 0
    code, _, said = told("apply plan.json -y")
    assert code == 4
    assert "the plan is stale: the state was written since" in said
    assert "it was applied, and nothing is left to be done" in said


def test_a_plan_begins_one_state_only(told: Told) -> None:
    """The first apply of one plan in two places would be two states of one lineage that both end each other's."""
    rehearsing()
    assert told("plan --out plan.json")[0] == 0
    for resume in ("", " --resume"):
        code, _, said = told(f"apply plan.json -y --state elsewhere{resume}")
        assert code == 4
        assert "was made for another state location" in said
        assert "plan again here" in said
        assert not Path("elsewhere").exists()
    assert told("apply plan.json -y")[0] == 0
    assert told("apply plan.json -y --state elsewhere")[0] == 4
    assert "place" in json.loads(Path("plan.json").read_text(encoding="utf-8"))["base"]


def test_nobody_to_ask_in_a_pipeline(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsing()
    monkeypatch.setenv("CI", "true")
    code, out, said = told("apply")
    assert code == 7
    assert "confirmation required, and there is no terminal to ask on hint: use --yes" in said
    assert not Path(".hcloud/state.json").exists()
    assert "machines to launch" in out


def test_a_pipe_that_closes_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # with it Python takes a write that was cut off for whole
    listing = f"{sys.executable} -m hcloud pricing list --region us-east-1 -q -o csv"
    line = f"{listing} | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("columns", ["1", "7", "20", "0", "-3", "wide"])
def test_a_terminal_of_any_width(columns: str, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsing()
    monkeypatch.setenv("COLUMNS", columns)
    assert told("plan --detailed-exitcode")[0] == 2
    assert told("strategy list")[0] == 0
    assert told("validate")[0] == 0


@pytest.mark.parametrize("how", ["--json", "-o json", "--output json", "--output=json"])
def test_a_refusal_can_be_json_on_stderr(how: str, told: Told) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "error.schema.json").read_text(encoding="utf-8"))
    for line, code in (("explain trace.csv", 1), ("plan --cloud was", 64), ("simulate --frobnicate", 64)):
        got, out, said = told(f"{line} {how}")
        assert (got, out) == (code, "")
        document = json.loads(said)
        Draft202012Validator(schema).validate(document)
        assert document["error"]["exit_code"] == code
        assert document["error"]["what"]
        assert document["error"]["hint"]


def test_problems_of_a_file_are_json_one_by_one(told: Told) -> None:
    configured(workload={"pth": "x"}, planning={"sed": 1})
    document = json.loads(told(f"plan trace.csv --json {' '.join(NOW)}")[2])
    assert [p["where"] for p in document["error"]["problems"]] == ["workload.pth", "planning.sed"]
    assert document["generated_at"] == "2026-11-20T12:00:00Z"


def test_validate_looks_at_the_cloud_and_the_fleet(told: Told) -> None:
    fleet = [
        {"address": "web", "instance_type": "m5.lrage", "count": 3, "zones": ["us-east-1a", "b"]},
        {"address": "web", "instance_type": "m5.large", "count": 30, "fallbacks": ["m6i.lage"]},
    ]
    live = {"cloud": "aws", "zones": ["eu-west-1a"], "settings": {}}
    configured(live=live, fleet=fleet, limits={"hourly": 1})
    code, out, _ = told("validate")
    whole = " ".join(out.split())
    assert code == 1
    for said in (
        "'eu-west-1a' is no zone of us-east-1, for example us-east-1a",
        "fleet.0 (web): zones: 'b' is no zone of us-east-1",
        "'m5.lrage'; did you mean m5.large?",
        "'m6i.lage'; did you mean m6i.large?",
        "fleet.1 (web): another entry has this address; each needs its own",
        "limits.hourly: $2.8800/h is more than $1/h; apply would refuse",
    ):
        assert said in whole
    configured(live={"cloud": "aws", "settings": {"subnts": ["a"]}}, fleet=FLEET)
    assert "live.settings: subnts: unknown key" in " ".join(told("validate")[1].split())
    configured(live={"cloud": "aws", "region": "us-eats-1"}, fleet=FLEET)
    assert "'us-eats-1'; did you mean us-east-1?" in " ".join(told("validate")[1].split())
    rehearsing()
    assert told("validate")[0] == 0


def test_what_several_fakes_export_fits_in_one_shell() -> None:
    """What SDKs go by has another name in each cloud; hcloud is sent to the first, and to another by one line."""
    ups = (
        Up("aws", "http://127.0.0.1:1", {"HYC_LIVE__CLOUD": "aws", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}),
        Up("gcp", "http://127.0.0.1:2", {"HYC_LIVE__CLOUD": "gcp", "HYC_LIVE__ACCOUNT": "demo"}),
    )
    lines = list(exports(ups))
    names = [line.split("=")[0] for line in lines if not line.startswith("#")]
    assert len(names) == len(set(names))
    shell = "\n".join([*lines, 'echo "$HYC_LIVE__CLOUD $AWS_ENDPOINT_URL [$HYC_LIVE__ACCOUNT]"'])
    for line in lines:
        shell += f"\n{line.partition(': ')[2]}" if line.startswith("# for") else ""
        shell += '\necho "$HYC_LIVE__CLOUD [$HYC_LIVE__ACCOUNT]"' if line.startswith("# for") else ""
    done = subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True, env={})
    assert done.stdout.splitlines() == ["aws http://127.0.0.1:1 []", "aws []", "gcp [demo]"]
    assert [line for line in exports(ups[1:]) if line.startswith("#")] == []


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("plan trace.csv --qos 90", "'90' must be 1 or less; 90% is 0.9"),
        ("plan trace.csv --columns jobs=id", "hint: columns: id, submit, start, duration"),
        ("reproduce nothing", "there is nothing to reproduce of 'nothing' hint: systems: hcloud"),
        ("harvest simulate trace.csv --jobs trace.csv", 'hint: write for example {"format_version"'),
    ],
)
def test_a_refusal_says_what_may_be_written_instead(line: str, hint: str, told: Told) -> None:
    code, _, said = told(line)
    assert code in (1, 64)
    assert hint in said


def test_a_plan_for_no_cloud_is_refused_with_its_own_cloud_and_file(told: Told) -> None:
    told("plan trace.csv --provider gcp --family e2 --out plan.json")
    code, _, said = told("apply plan.json")
    assert (code, "hint: plan it again with --cloud gcp --out plan.json; --cloud fake rehearses" in said) == (1, True)


def test_a_flag_that_the_configuration_refuses_is_told_in_one_line(told: Told) -> None:
    code, _, said = told("plan trace.csv --horizon 1")
    assert (code, said.count("\\n")) == (64, 0)
    assert said.startswith("error: planning.horizon: '1' (is not a duration; write for example")
    _, _, said = told("plan trace.csv --set cores=4")
    assert "did you mean default_cores, series_cores, " in said
    _, _, said = told("plan trace.csv --set series.value=cores")
    assert "did you mean series_value?" in said


@pytest.mark.parametrize("date", ["31.10.2026 10:00", "10/31/2026 10:00 AM", "31-10-2026"])
def test_dates_of_a_country_are_met_with_how_to_convert_them(date: str, told: Told) -> None:
    for header in ("submit,duration", "time,cpu"):
        Path("dates.csv").write_text(f"{header}\n{date},5\n{date},5\n", encoding="utf-8")
        code, _, said = told("workload show dates.csv --set series_value=cores")
        assert code == 1
        assert "--set dates=" in said


def test_a_folder_of_jobs_does_not_blame_its_read_me(told: Told) -> None:
    Path("many").mkdir()
    jobs = "JobID|Submit|Start|End|AllocCPUS\n1|2026-11-01T08:00:00|2026-11-01T08:00:00|2026-11-01T08:30:00|2\n"
    for name, text in (
        ("README.txt", "how these were made\n"),
        ("a.txt", jobs),
        ("z.csv", "timestamp,cores\n0,1\n60,1\n"),
    ):
        Path("many", name).write_text(text, encoding="utf-8")
    code, _, said = told("plan many")
    assert code == 1
    assert "many/a.txt: holds jobs (slurm)" in said


OTHER_FORMS = [
    (
        "plan trace.csv --out x.html",
        "x.html: a plan is JSON, not HTML",
        "name it x.json; -o html (or md, csv) > x.html",
    ),
    ("plan trace.csv --out x.csv", "x.csv: a plan is JSON, not CSV", "name it x.json"),
    ("simulate trace.csv -s OdM --journal x.html", "a journal is JSON lines, not HTML", "name it x.jsonl"),
    ("profile run --name a --out x.json -- true", "a profile is YAML, not JSON", "name it x.yaml"),
    ("sweep trace.csv --vary price_ratio=2 --out x.csv", "--out x.csv: is a folder", "--csv FILE.csv"),
    ("sweep trace.csv --vary price_ratio=2 --csv x.json", "a table is CSV, not JSON", "name it x.csv"),
    ("harvest replicas --servers s.csv --out x.csv", "a placement is JSON lines, not CSV", "name it x.jsonl"),
    ("workload show trace.csv --out x.json", "must end in .png, .svg or .html", ""),
    ("workload fetch --cloud aws --out x.json", "what is fetched is CSV, not JSON", "name it x.csv"),
]


@pytest.mark.parametrize(("line", "what", "hint"), OTHER_FORMS)
def test_a_result_is_not_written_under_the_name_of_another_form(line: str, what: str, hint: str, told: Told) -> None:
    code, out, said = told(line)
    assert (code, out, what in said, hint in said) == (64, "", True, True), said
    assert not list(Path().glob("x.*"))
