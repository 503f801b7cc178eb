"""Files of jobs: what they may say, what is refused with its line, and what a followed one tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hcloud.errors import FileError, InputError, UsageError
from hcloud.model.running.job import JobOrder, ServiceTarget, TargetKind
from hcloud.model.workload import JobKind
from hcloud.readers.jobs import FollowedFile, JobsFile, SeveralFiles

BEGAN = 1_796_000_000.0
NOW = BEGAN + 50


def few(_order: JobOrder, servers: int) -> str:
    return "at most 8" if servers > 8 else ""


def source(path: Path, follow: bool = False) -> FollowedFile:
    return FollowedFile(JobsFile(path), BEGAN, follow=follow, now=lambda: NOW, fits=few)


def read(folder: Path, text: str | bytes, name: str = "jobs.csv") -> tuple[JobOrder, ...]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = source(path).new()
    assert told.closed
    return told.orders


def refused(folder: Path, text: str | bytes, name: str = "jobs.csv") -> str:
    with pytest.raises(InputError) as error:
        read(folder, text, name)
    return str(error.value)


def row(folder: Path, column: str, cell: str) -> JobOrder:
    [found] = read(folder, f'id,command,kind,{column}\na,true,{"service" if column == "target" else ""},"{cell}"\n')
    return found


def test_a_job_says_what_it_runs_and_what_it_needs(tmp_path: Path) -> None:
    [job] = read(
        tmp_path,
        "id,submit,command,cores,memory,kind,app,expect,target,restartable\n"
        "a.1,90,python train.py --name 'two words',2.5,512Mi,batch,train,5m,,yes\n",
    )
    words = ("python", "train.py", "--name", "two words")
    assert job == JobOrder("a.1", BEGAN + 90, words, 2500, 512, app="train", expect=300.0, restartable=True)


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    assert read(tmp_path, "id,command\na,true\n") == (JobOrder("a", NOW, ("true",), 1000, 512),)


def test_yaml_says_the_same(tmp_path: Path) -> None:
    text = """
jobs:
  - id: a
    submit: 5m
    command: [sh, -c, "echo $HOME | wc"]
    cores: 0.5
    memory: 2
  - {id: 7, command: serve --port 80, kind: service, target: "p99<250ms http://127.0.0.1:8080/", restartable: true}
"""
    first, second = read(tmp_path, text, "jobs.yaml")
    assert first == JobOrder("a", BEGAN + 300, ("sh", "-c", "echo $HOME | wc"), 500, 2048)
    target = ServiceTarget(TargetKind.HTTP, "http://127.0.0.1:8080/", 250.0)
    assert second == JobOrder(
        "7", NOW, ("serve", "--port", "80"), 1000, 512, JobKind.SERVICE, target=target, restartable=True
    )
    assert read(tmp_path, "- {id: a, command: 'true'}\n", "list.yml")[0].id == "a"


def test_a_job_on_several_servers_is_a_piece_for_each(tmp_path: Path) -> None:
    """Each has an equal part, in CSV as in YAML; what is not said is the usual for each of them."""
    found = read(tmp_path, "id,command,cores,memory,servers\na,true,5,1,2\nb,true,,,3\nc,true,,,1\n")
    assert [(o.id, o.cores, o.memory) for o in found] == [
        ("a.1", 2500, 512), ("a.2", 2500, 512), *((f"b.{n}", 1000, 512) for n in (1, 2, 3)), ("c", 1000, 512),
    ]  # fmt: skip
    assert [o.piece and (o.piece.of, o.piece.after) for o in found] == [
        ("a", None), ("a", "a.1"), ("b", None), ("b", "b.1"), ("b", "b.2"), None,
    ]  # fmt: skip
    (first, _) = read(tmp_path, "- {id: a, command: 'true', cores: 3, servers: 2}\n", "list.yaml")
    assert (first.id, first.cores, first.piece and first.piece.count) == ("a.1", 1500, 2)


def test_all_that_is_wrong_with_servers_is_said_at_once(tmp_path: Path) -> None:
    rows = ["a,0", "b,-1", "c,two", "d,1.5", "e,20000", "f,9", "g,2", "g.2,1", f"{'x' * 199},2"]
    with pytest.raises(InputError) as caught:
        read(tmp_path, "id,servers,command\n" + "".join(f"{row},true\n" for row in rows))
    told = [(p.where, p.value, p.allowed) for p in caught.value.problems]
    whole = "a whole number from 1 to 10,000"
    assert told == [
        *((f"line {n}, servers", repr(row.partition(",")[2]), whole) for n, row in enumerate(rows[:5], 2)),
        ("line 7, servers", "'9'", "at most 8"),
        ("line 9, id", "'g.2'", "line 8 has it already; each job needs an id of its own"),
        ("line 10, id", repr("x" * 199)[:60], "at most 198 characters where servers is 2: its pieces are called ID.1,"
         " ID.2, ..."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "mib"),
    [("512Mi", 512), ("512M", 512), ("2G", 2048), ("2GiB", 2048), ("2gb", 2048), ("1.5", 1536), ("1T", 1 << 20),
     ("1k", 1), ("100", 102_400), ("0.1", 103), ("3145728B", 3)],
)  # fmt: skip
def test_memory_has_units_of_1024(cell: str, mib: int, tmp_path: Path) -> None:
    assert row(tmp_path, "memory", cell).memory == mib


@pytest.mark.parametrize(
    ("cell", "at"),
    [("0", BEGAN), ("1.5", BEGAN + 1.5), ("2h", BEGAN + 7200), ("", NOW), ("2026-01-31T08:00:00Z", 1769846400.0),
     ("2026-01-31T08:00:00", 1769846400.0), ("2026-01-31 09:00:00+01:00", 1769846400.0), ("2026-01-31", 1769817600.0)],
)  # fmt: skip
def test_a_job_is_submitted_after_the_start_at_a_time_or_at_once(cell: str, at: float, tmp_path: Path) -> None:
    assert row(tmp_path, "submit", cell).submit == at


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [("90", 90), ("90m", 5400), ("01:34:00", 5640), ("1-02:03:04", 93784), ("1h30m", 5400), ("PT1H30M", 5400),
     ("2 hours", 7200), ("500ms", 0.5), ("2w", 1_209_600)],
)  # fmt: skip
def test_durations_are_written_as_in_traces(cell: str, seconds: float, tmp_path: Path) -> None:
    assert row(tmp_path, "expect", cell).expect == seconds
    assert row(tmp_path, "submit", cell).submit == BEGAN + seconds


@pytest.mark.parametrize("kind", ["service", "Latency-Critical", "ls", "serving"])
def test_kinds_are_called_as_in_traces(kind: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"id,command,kind\na,true,{kind}\n")[0].kind is JobKind.SERVICE


def test_columns_are_called_as_in_traces_and_their_names_say_units(tmp_path: Path) -> None:
    """A cell that says its unit itself keeps that; YAML says the same."""
    head, cells = "JobID,cmd,submitted_at,cpu_milli,Memory (MB),runtime_minutes,nodes", "a,true,30s,1500,512,90,1"
    wanted = JobOrder("a", BEGAN + 30, ("true",), 1500, 512, expect=5400.0)
    assert read(tmp_path, f"{head}\n{cells}\n") == (wanted,)
    assert read(tmp_path, "name,cmd,mem_mb,duration_h\na,true,2G,90s\n")[0].memory == 2048
    assert read(tmp_path, "name,cmd,mem_mb,duration_h\na,true,2G,90s\n")[0].expect == 90
    assert "line 2, runtime: '1:30'" in refused(tmp_path, "name,cmd,runtime\na,true,1:30\n")
    yaml = "- {job: a, cmd: 'true', submitted: 30s, vcpus: 1500m, memory_mib: 512, runtime_minutes: 90}\n"
    assert read(tmp_path, yaml, "jobs.yaml") == (wanted,)


@pytest.mark.parametrize(
    ("cell", "target"),
    [
        ("p99<250ms https://a.example/x?x=1&y=2", (TargetKind.HTTP, "https://a.example/x?x=1&y=2", 250, "")),
        ("p99 <= 0.5s cmd: ./probe --port 80", (TargetKind.COMMAND, "./probe --port 80", 500, "")),
        ("p99<900us prometheus: http://prom:9090/ histogram_quantile(0.99, x)",
         (TargetKind.PROMETHEUS, "histogram_quantile(0.99, x)", 0.9, "http://prom:9090")),
    ],
)  # fmt: skip
def test_a_service_has_a_target(cell: str, target: tuple[TargetKind, str, float, str], tmp_path: Path) -> None:
    kind, probe, limit, server = target
    assert row(tmp_path, "target", cell).target == ServiceTarget(kind, probe, limit, server)


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("cores", "0", "a number of vCPUs above 0"), ("cores", "-1", "vCPUs"), ("cores", "nan", "vCPUs"),
        ("cores", "1e99", "vCPUs"), ("cores", "two", "vCPUs"), ("memory", "0", "GiB as a number"),
        ("memory", "4096", "its unit, 4096Mi or 4096Gi: no machine has 4096 GiB for 1 vCPU"),
        ("expect", "1:30", "of two numbers say which they are: 00:1:30 (mm:ss) or 1:30:00 (hh:mm)"),
        ("expect", "9" * 400, "seconds above 0"), ("submit", "1:30", "1:30:00 (hh:mm)"),
        ("memory", "5 apples", "512Mi"), ("memory", "inf", "512Mi"), ("memory", "99999999T", "512Mi"),
        ("kind", "bach", "batch, which ends by itself, or service"), ("expect", "0", "seconds above 0"),
        ("expect", "soon", "90s"), ("submit", "-5", "seconds after the start"),
        ("submit", "2026-13-40", "a time such as"),
        ("restartable", "maybe", "yes or no"), ("target", "p99<250ms", "and then http://"),
        ("target", "p99<0ms http://x/", "p99<250ms"), ("target", "p99<1ms cmd:", "cmd: PROGRAM"),
        ("target", "p99<1ms prometheus: http://x", "QUERY"), ("target", "p50<1ms http://x/", "p99<250ms"),
        ("id", "a\tb", "control characters"), ("id", "x" * 201, "at most 200 characters"),
    ],
)  # fmt: skip
def test_a_cell_that_cannot_be_used_is_told_with_its_line(column: str, cell: str, said: str, tmp_path: Path) -> None:
    head = "id,command" if column == "id" else f"id,command,{column}"
    line = f'"{cell}",true' if column == "id" else f'a,true,"{cell}"'
    text = refused(tmp_path, f"{head}\n\n{line}\n")
    assert f"line 3, {column}: " in text
    assert said in text


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("a | b", "| needs a shell"), ("a > out.txt", "> needs a shell"), ("a 2>err b", "2>err needs a shell"),
        ("a && b", "&& needs a shell"), ("sleep 5 &", "& needs a shell"), ("a; b", "; needs a shell"),
        ("echo 'open", "no closing quotation"),
    ],
)  # fmt: skip
def test_what_needs_a_shell_is_refused_not_passed_on(cell: str, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, f'id,command\na,"{cell}"\n')


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("grep '|' x", ("grep", "|", "x")), ("sh -c 'a | b > c; d &'", ("sh", "-c", "a | b > c; d &")),
        ("curl http://h/?a=1&b=2", ("curl", "http://h/?a=1&b=2")), ("a \\; b", ("a", ";", "b")),
        ("a -->b", ("a", "-->b")), ("echo a#b", ("echo", "a#b")),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_shell_is_not(cell: str, words: tuple[str, ...], tmp_path: Path) -> None:
    assert read(tmp_path, f'id,command\na,"{cell}"\n')[0].command == words


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = refused(tmp_path, "id,comand,command,cores\na,,true,0\nb,,,1\n,,true,\na,,true,1\nc,,true,1,2\nb,,true,1\n")
    assert "7 problems in the file of jobs" in text
    assert "line 1, column 'comand': unknown (did you mean command?)" in text
    assert "line 2, cores: '0'" in text
    assert "line 3, command: missing (write what the job runs)" in text
    assert "line 4, id: missing" in text
    assert "line 5, id: 'a' (line 2 has it already" in text
    assert "line 7, id: 'b' (line 3 has it already" in text
    assert "line 6: 5 cells for 4 columns (put a cell that holds a comma in double quotes)" in text
    text = refused(tmp_path, "id,command,kind,target,expect\na,true,batch,p99<1ms http://x/,\nb,true,service,,90\n")
    assert "only a service has a target: write service as its kind" in text
    assert "a service does not end: remove it, or write batch as its kind" in text


def test_a_duplicate_of_a_bad_row_is_told(tmp_path: Path) -> None:
    assert "line 3, id: 'b' (line 2 has it already" in refused(tmp_path, "id,command\nb,\nb,true\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,cmmand\na,true\n", "column 'cmmand': unknown (did you mean command?)"),
        ("id,command,start\na,true,1\n", "did you mean submit?"),
        ("id,command,mem\na,true,1\n", "did you mean memory? Say its unit: memory_gib or memory_mib"),
        ("id,job,command\na,x,true\n", "column 'job': unknown (id says the id already; leave one of them out)"),
        ("cpus,cores\n1,2\n", "column 'cpus': unknown (cores says the cores already"),
        ("id,command,id\na,true,b\n", "column id: twice"),
        ("id\na\n", "column command: missing (the first line names the columns: id, submit"),
        ("", "is empty, not a file of jobs"),
        (b"id,command\na,\xff\n", "line 2 is not UTF-8 text"),
        ('id,command\na,"true\n', "line 2: unexpected end of data"),
        ("submit,duration,cores\n0,1,1\n", "column command: missing"),
        (b"PK\x03\x04", "is a zip archive"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str | bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, text)
    assert said in refused(tmp_path, text), "the same when it is asked again"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {id: a, command: 'true'}\n- {id: b}\n", "line 2, command: missing"),
        ("- id: a\n  command: 'true'\n  mem: 2\n", "line 1, column 'mem': unknown (did you mean memory? Say its unit"),
        ("jobs: 5\n", "is no list of jobs"),
        ("- just text\n", "line 1: 'just text'"),
        ("- {id: a, command: 'true', cores: true}\n", "line 1, cores: True"),
        ("- {id: a, command: [sh, [x]]}\n", "a list of texts"),
        ("- {id: [], command: 'true'}\n", "line 1, id: []"),
        ("- &a {id: a, command: 'true'}\n- *a\n", "line 1 has it already"),
        ("- {id: a, command: x\n", "cannot be read as YAML"),
    ],
)
def test_yaml_that_cannot_be_used_says_why(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, text, "jobs.yaml")


def test_broken_json_is_said_to_be_json(tmp_path: Path) -> None:
    told = refused(tmp_path, '[{"id": "a", "command": "x"\n', "jobs.json")
    assert "cannot be read as JSON: while parsing a flow mapping at line 1, column 2 did not find expected" in told


def test_what_spreadsheets_write_is_read(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbfid;command;app\r\na;"sh -c \'echo 1\r\necho 2\'";x\r\n\r\nb;"say ""hi""";\r\nc;true\r\n'
    a, b, c = read(tmp_path, text)
    assert a.command == ("sh", "-c", "echo 1\r\necho 2")
    assert b.command == ("say", "hi")
    assert c.command == ("true",)
    assert "line 7, command: missing" in refused(tmp_path, text + b"d;;\r\n")


def test_lines_are_counted_through_quoted_line_breaks(tmp_path: Path) -> None:
    assert "line 4, cores" in refused(tmp_path, "id,command,cores\na,\"sh -c '1\n2'\",1\nb,true,x\n")


def test_what_is_no_file_is_refused_and_nothing_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for name, said in (("pipe.csv", "is a pipe"), ("none.csv", "no such file of jobs"), (".", "is a directory")):
        with pytest.raises(InputError, match=said):
            source(tmp_path / name).new()


def test_a_followed_file_tells_whole_lines_once(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("")
    jobs = source(path, follow=True)
    assert jobs.new().orders == ()
    parts = ["id,comm", "and\na,tr", "ue\nb,", '"sh -c ""x\n', 'y"""', "\nc,true"]
    told = []
    for part in parts:
        with path.open("a") as file:
            file.write(part)
        found = jobs.new()
        assert not found.closed
        told.append([(o.id, o.command) for o in found.orders])
    assert told == [[], [], [("a", ("true",))], [], [], [("b", ("sh", "-c", "x\ny"))]]
    assert jobs.new().orders == ()


def test_a_bad_line_that_is_added_is_told_once_and_the_others_come(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("id,command\na,true\n")
    jobs = source(path, follow=True)
    assert [o.id for o in jobs.new().orders] == ["a"]
    with path.open("a") as file:
        file.write("b,\nc,true\na,true\n")
    with pytest.raises(InputError, match=r"(?s)line 3, command: missing.*line 5, id: 'a' .line 2 has it already"):
        jobs.new()
    assert [o.id for o in jobs.new().orders] == ["c"]
    assert jobs.new().orders == ()


def test_of_a_file_that_grows_for_years_ids_are_kept_and_not_the_line_of_each(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("id,command\na-1,true\n")
    jobs = source(path, follow=True)
    jobs.new()
    lines = vars(jobs)["_reading"].lines
    lines.update((f"b-{n}", 3) for n in range(100_000))
    with path.open("a") as file:
        file.write("c-1,true\nc-1,true\na-1,true\nc-2,true\n")
    with pytest.raises(InputError, match=r"(?s)'c-1' .an earlier line has it.*'a-1' .line 2 has it"):
        jobs.new()
    assert [o.id for o in jobs.new().orders] == ["c-1", "c-2"]
    assert len(lines) == 100_001


@pytest.mark.parametrize("text", ["", "id,command\nz,true\n", "id,command\nz,true\nb,true\nc,true\nd,true\n"])
def test_a_file_that_was_shortened_or_replaced_is_told_and_not_misread(text: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    for other in (False, True):
        path.write_text("id,command\na,true\nb,true\n")
        jobs = source(path, follow=True)
        assert len(jobs.new().orders) == 2
        if other:
            path.rename(tmp_path / "old.csv")
        path.write_text(text)
        for _ in range(2):
            with pytest.raises(InputError, match="was shortened, replaced or changed"):
                jobs.new()


def test_a_file_that_an_editor_wrote_anew_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("id,command\na,true\n")
    jobs = source(path, follow=True)
    assert len(jobs.new().orders) == 1
    fresh = tmp_path / "fresh"
    fresh.write_text("id,command\na,true\nb,true\n")
    fresh.rename(path)
    assert [o.id for o in jobs.new().orders] == ["b"]
    path.unlink()
    with pytest.raises(InputError, match="no such file of jobs"):
        jobs.new()


def test_yaml_is_not_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="YAML cannot be followed") as refused:
        source(tmp_path / "jobs.yaml", follow=True)
    assert refused.value.hint.endswith("--no-follow"), "whoever goes on follows without having said so"


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("id,command\n")

    def denied(*given: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(FileError, match="cannot be read: permission denied"):
        source(path).new()


def test_the_file_in_the_guide_is_one(tmp_path: Path) -> None:
    guide = Path(__file__).parents[3] / "docs" / "guides" / "jobs.md"
    jobs = read(tmp_path, guide.read_text(encoding="utf-8").split("```\n")[1])
    assert [job.id for job in jobs] == ["train-1", "etl", "shop"]
    assert jobs[2].target == ServiceTarget(TargetKind.HTTP, "http://127.0.0.1:8080/", 250.0)


def test_columns_are_called_as_is_said(tmp_path: Path) -> None:
    """A plan reads a table of jobs with names of its own by --columns; so are the same jobs run."""
    path, said = tmp_path / "jobs.csv", "id=Name,command=what to run,expect=limit_minutes"
    path.write_text("Name,what to run,limit_minutes,queue,id\nnight-1,true,5,long,77\n")
    [job] = FollowedFile(JobsFile(path, said), BEGAN).new().orders
    assert (job.id, job.command, job.expect) == ("night-1", ("true",), 300.0)
    for wrong in ("id=Name,command=nope", "id=Name,commands=what to run", "id=Name,id=id"):
        with pytest.raises((InputError, UsageError), match=r"no column|once"):
            FollowedFile(JobsFile(path, wrong), BEGAN).new()
    path = tmp_path / "jobs.yaml"
    path.write_text("- {Name: a, what to run: 'true', limit_minutes: 5, queue: 1}\n- {Name: b, what to run: 'true'}\n")
    assert [j.expect for j in FollowedFile(JobsFile(path, said), BEGAN).new().orders] == [300.0, None]


def test_what_was_wrong_with_several_files_is_not_told_long_after_it_was_mended(tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    several = SeveralFiles([source(path, follow=True) for path in paths])
    for _ in range(6):
        with pytest.raises(InputError):
            several.new()
    for path in paths:
        path.write_text(f"id,command\n{path.stem},true\n")
    assert [job.id for job in several.new().orders] == ["a", "b"]
    with pytest.raises(InputError):  # of the two, one was not told yet
        several.new()
    assert several.new().orders == ()
