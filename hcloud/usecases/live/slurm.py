"""``hcloud slurm``: what a cluster needs, whether it has it, and what its power saving calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hcloud.errors import FileError, HcloudError, InputError, Problem, UsageError, did_you_mean, writing
from hcloud.model.checks import CheckResult, CheckStatus
from hcloud.model.clouds.known import CLOUDS
from hcloud.policy.facts import Setup
from hcloud.providers.local.settings import TYPES
from hcloud.providers.slurm import check, config, joining, limits
from hcloud.providers.slurm.client import HOW_TO_INSTALL, SlurmCommands
from hcloud.providers.slurm.site import FILE_NAME, MARK, NodeGroup, SlurmSite, load_site
from hcloud.units import counted

CONF = Path("/etc/slurm/slurm.conf")
FOLDER = Path("/var/lib/hcloud/slurm")
LOCAL_SECONDS, CLOUD_SECONDS = (60, 5), (600, 60)
"""Ours: how long a machine may take to join and to go, by where it is."""
FIRST_PORT = 17_911
"""Ours: where the ports of nodes begin that are processes of this machine; Slurm's own are 6817 and 6818."""
_TYPE = re.compile(
    r"(?P<name>[^=]+)=(?P<vcpus>\d{1,9})x(?P<gib>\d{1,9}(?:\.\d+)?)(?::(?P<reserved>\d{1,9})\+(?P<on_demand>\d{1,9}))?"
)
WRITTEN = "Written by 'hcloud slurm config'"
_PARTITION = re.compile(r"[A-Za-z0-9_-]{1,64}")
LOCAL, FAKE = "local", "fake"
FAKE_STORE = "aws:hcloud-slurm"
"""Where machines of a fake cloud read their secrets, unless something else is said."""


def conf_of(path: Path | None) -> Path:
    """Where slurm.conf is: as told, as Slurm's own commands are told, or where Debian has it."""
    return path or Path(os.environ.get("SLURM_CONF") or CONF)


def site_beside(conf: Path) -> SlurmSite:
    """The site that 'hcloud slurm config' wrote beside a slurm.conf."""
    return load_site(conf.parent / FILE_NAME)


def group_of(text: str) -> NodeGroup:
    """A type as the command line tells it: NAME=VCPUSxGIB:RESERVED+ON_DEMAND. UsageError for what is none."""
    found = _TYPE.fullmatch(text)
    if found is None or int(found["vcpus"]) < 1 or float(found["gib"]) <= 0:
        raise UsageError(f"--type {text}: is no type", hint="for example m6i.xlarge=4x16:10+64")
    counts = (int(found["reserved"] or 0), int(found["on_demand"] or MOST_ON_DEMAND))
    return NodeGroup(found["name"], int(found["vcpus"]), int(float(found["gib"]) * 1024), *counts)


SAY_TYPES = "--plan plan.json --cloud aws, --type m6i.xlarge=4x16:10+64, or --cloud local"
MOST_ON_DEMAND = 64
"""Ours: node names for machines rented when needed, of each type; a name costs slurmctld little."""


def groups_of_this_machine(cores: int) -> tuple[NodeGroup, ...]:
    """The types of ``--cloud local`` that fit, twice as many names as fit: a name rests before it is used again."""
    fitting = {name: cores // size.vcpus for name, size in TYPES.items()}
    return tuple(
        NodeGroup(name, size.vcpus, int(size.memory_gib * 1024), fitting[name], 2 * fitting[name])
        for name, size in TYPES.items()
        if fitting[name]
    )


def beside_a_reserve(groups: Sequence[NodeGroup], cores: int) -> tuple[NodeGroup, ...]:
    """Those of which one has room beside a reserved machine, which is of the largest type of which two fit."""
    reserved = max((g.vcpus for g in groups if g.reserved > 1), default=cores)
    return tuple(g for g in groups if g.vcpus <= max(reserved, cores - reserved))


def groups_of(setup: Setup) -> tuple[NodeGroup, ...]:
    """The types that a controller works with: the names of the reserve, and many of each for what is rented."""
    reserved = dict(setup.lots)
    rented = setup.wholes if setup.whole_servers else range(len(setup.types))
    return tuple(
        NodeGroup(t.name, t.cores // 1000, t.memory, reserved.get(number, 0), MOST_ON_DEMAND if number in rented else 0)
        for number, t in enumerate(setup.types)
        if number in rented or reserved.get(number)
    )


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """What the command line says of a site; ``planned`` are the types of a plan."""

    types: tuple[str, ...]
    cloud: str | None
    partition: str
    folder: Path
    store: str = ""
    planned: tuple[NodeGroup, ...] = ()
    keeps_order: bool = False

    def site(self) -> SlurmSite:
        """The site. UsageError where no types are named."""
        if self.store:
            joining.reading(self.store, joining.MUNGE_KEY)
        if not _PARTITION.fullmatch(self.partition):
            raise UsageError(
                f"--partition {self.partition}: is no name of a partition", hint="letters, digits, - and _"
            )
        if self.cloud is not None and self.cloud.partition(":")[0] not in (*CLOUDS, LOCAL, FAKE):
            known = (*CLOUDS, LOCAL, FAKE)
            raise UsageError(
                f"--cloud {self.cloud}: there is no such cloud{did_you_mean(self.cloud, known)}",
                hint=f"one of {', '.join(known)}",
            )
        local, fake = self.cloud == LOCAL, (self.cloud or "").partition(":")[0] == FAKE
        here = local or fake
        own = self.planned or (beside_a_reserve(groups_of_this_machine(_cores()), _cores()) if local else ())
        groups = tuple(group_of(text) for text in self.types) or own
        if not groups:
            raise UsageError("no machine types given", hint=SAY_TYPES)
        store = self.store or (FAKE_STORE if fake else "")
        site = SlurmSite(self.folder.absolute(), groups, self.partition, store=store, keeps_order=self.keeps_order)
        spin_up, shut_down = LOCAL_SECONDS if here else CLOUD_SECONDS
        return replace(site, first_port=FIRST_PORT if here else None, spin_up=spin_up, shut_down=shut_down)

    def left_out(self) -> str:
        """What is said of types of this machine that the site has not."""
        if self.cloud != LOCAL or self.types or self.planned:
            return ""
        cores = _cores()
        groups = groups_of_this_machine(cores)
        kept = beside_a_reserve(groups, cores)
        out = " and ".join(g.type_name for g in groups if g not in kept)
        if not out:
            return ""
        every = " ".join(
            f"--type {g.type_name}={g.vcpus}x{g.memory / 1024:g}:{g.reserved}+{g.on_demand}" for g in groups
        )
        why = f"left out: {out}, as on {cores} cores none has room beside the reserve"
        return f"{why}; for a strategy that reserves nothing, as OdM: --cloud local {every}"


def _cores() -> int:
    return os.cpu_count() or 1


def check_accepted(site: SlurmSite, place: Path) -> None:
    """InputError where slurmctld could not use the files of a site in the folder ``place``."""
    if wrong := limits.not_accepted(site, str(site.folder), str(place)):
        hint = "change --type, --partition, --folder or --out; nothing was written"
        raise InputError("slurmctld could not use this site", wrong, hint=hint)


def write_files(site: SlurmSite, place: Path) -> tuple[Path, ...]:
    """Write every file of a site beside slurm.conf, and make its folder; also a slurm.conf where there is none and all
    of the cluster is on this machine. InputError where a script there is somebody else's, and where there is no such
    folder but the cluster is not of this machine alone: nothing is written then."""
    if site.first_port is None and not place.is_dir():
        raise InputError(
            f"{place}: there is no such folder",
            hint="--out is the folder of the cluster's slurm.conf; to look at the files elsewhere, make a folder first",
        )
    scripts = dict(config.files(site, str(place)))
    if site.first_port is not None and not (place / CONF.name).exists():
        scripts[CONF.name] = config.base(site)
    if strange := [name for name, text in scripts.items() if _is_of_others(place / name, text)]:
        raise InputError(
            f"{place / strange[0]}: was not written by 'hcloud slurm config' and is left unchanged",
            hint="write to another folder with --out, and merge its files yourself",
        )
    with writing(site.folder):
        for folder in (site.claims, site.tickets, site.begun):
            folder.mkdir(parents=True, exist_ok=True)
    written = []
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in scripts.items():
        path = place / name
        with writing(path):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        written.append(path)
    return tuple(written)


def _is_of_others(path: Path, text: str) -> bool:
    """Whether a script there was written by somebody else."""
    if WRITTEN not in text or not path.is_file():
        return False
    return WRITTEN not in path.read_text(encoding="utf-8", errors="replace")


def checks(conf: Path, *, offline: bool) -> tuple[CheckResult, ...]:
    """Everything that hcloud relies on; ``offline`` reads slurm.conf and asks nobody."""
    try:
        site = site_beside(conf)
    except HcloudError as error:
        why = f"{conf.parent / FILE_NAME} cannot be used: {error}"
        return (CheckResult("site", CheckStatus.ERROR, why, hint="hcloud slurm config --out writes it"),)
    commands = SlurmCommands(conf)
    if wrong := limits.not_accepted(site, str(site.folder), str(conf.parent)):
        why, hint = "slurmctld could not use this site", "hcloud slurm config with other types or folders"
        return (CheckResult("site", CheckStatus.ERROR, why, tuple(map(str, wrong)), hint),)
    shown = f"partition {site.partition}, {counted(sum(g.reserved + g.on_demand for g in site.groups), 'node')}"
    own = [CheckResult("site", CheckStatus.OK, shown), *_store(site, conf), *_files(site, conf.parent), _folder(site)]
    return (*own, *(_of_conf(site, conf) if offline else _of_cluster(site, conf, commands)))


def _store(site: SlurmSite, conf: Path) -> Iterator[CheckResult]:
    """What machines of a cloud need. They get no file that slurm.conf includes by a path."""
    if not site.store:
        return
    try:
        named = check.includes_of(_text(conf, 0))
    except HcloudError:
        named = ()
    said = joining.needs(site.store, "of slurmctld's version")
    if any("/" in name for name in named):
        hint = f"write it without a path: {config.INCLUDE}"
        yield CheckResult("store", CheckStatus.ERROR, f"{conf} includes files by a path", said, hint)
    else:
        yield CheckResult("store", CheckStatus.OK, f"machines read munge's key from {site.store}", said)


def _of_conf(site: SlurmSite, conf: Path) -> Iterator[CheckResult]:
    try:
        yield _settings(site, conf, check.settings_of(_text(conf)))
    except HcloudError as error:
        yield CheckResult("settings", CheckStatus.ERROR, str(error), hint=error.hint)


def _text(conf: Path, depth: int = 3) -> str:
    """A slurm.conf with what it includes."""
    try:
        text = conf.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FileError.of(error, conf, "read") from error
    more = [_text(conf.parent / name, depth - 1) for name in check.includes_of(text)] if depth else []
    return "\n".join([text, *more])


def _of_cluster(site: SlurmSite, conf: Path, commands: SlurmCommands) -> Iterator[CheckResult]:
    try:
        version, found = commands.version, commands.settings()
    except HcloudError as error:
        yield CheckResult("slurmctld", CheckStatus.ERROR, str(error), hint=error.hint or HOW_TO_INSTALL)
        return
    yield _version(version)
    yield CheckResult("slurmctld", CheckStatus.OK, f"answers; started {found.get('boot_time', '?')}; munge works")
    yield _settings(site, conf, found)
    yield _nodes(site, commands)
    yield _rights(found)


def check_cluster(site: SlurmSite, conf: Path, commands: SlurmCommands) -> None:
    """InputError where the running slurmctld lacks settings or nodes: machines would be launched that never join."""
    found = (_settings(site, conf, commands.settings()), _nodes(site, commands))
    wrong = [one for one in found if one.status is CheckStatus.ERROR]
    if wrong:
        problems = [Problem(str(conf), one.message, "", detail) for one in wrong for detail in one.details or ("",)]
        said, hint = f"{conf}: this slurmctld is not ready for hcloud", wrong[0].hint
        raise InputError(said, problems, hint=f"{hint}; 'hcloud slurm check' says when it is ready")


def _version(version: tuple[int, int]) -> CheckResult:
    said = f"{version[0]}.{version[1]:02}"
    if version < check.OLDEST:
        return CheckResult("version", CheckStatus.ERROR, said, hint="hcloud needs Slurm 21.08 or newer")
    return CheckResult("version", CheckStatus.OK, said)


def _settings(site: SlurmSite, conf: Path, found: Mapping[str, str]) -> CheckResult:
    absent = check.missing(site, str(conf.parent), found)
    if not absent:
        return CheckResult("settings", CheckStatus.OK, "slurm.conf has what hcloud needs")
    details = tuple(f"{m.line}   # now: {m.found or 'not set'}; {m.why}" for m in absent)
    status = CheckStatus.ERROR if any(m.needed for m in absent) else CheckStatus.WARNING
    hint = f"add to the end of {conf}: {config.INCLUDE}; then restart slurmctld"
    said = counted(len(absent), "setting is not as hcloud needs it", "settings are not as hcloud needs them")
    return CheckResult("settings", status, said, details, hint)


def _nodes(site: SlurmSite, commands: SlurmCommands) -> CheckResult:
    """Whether the running slurmctld knows every node name, in the partition."""
    known = {node.name for node in commands.nodes()}
    wanted = [n for g in site.groups for kind in (True, False) for n in site.names(g.type_name, reserved=kind)]
    absent = [name for name in wanted if name not in known]
    if absent or not commands.partition(site.partition):
        what = f"{len(absent)} of {counted(len(wanted), 'node')}" if absent else f"partition {site.partition}"
        details = tuple(absent[:5]) + (("...",) if len(absent) > 5 else ())
        hint = f"include {config.CONF} in slurm.conf and restart slurmctld"
        return CheckResult("nodes", CheckStatus.ERROR, f"slurmctld does not know {what}", details, hint)
    said = "the one node" if len(wanted) == 1 else f"all {len(wanted)} nodes"
    return CheckResult("nodes", CheckStatus.OK, f"slurmctld knows {said}")


def _files(site: SlurmSite, place: Path) -> Iterator[CheckResult]:
    """Whether the files beside slurm.conf are those of this version, and may be run."""
    wrong = [said for name, text in config.files(site, str(place)).items() if (said := _file(place / name, text))]
    if wrong:
        hint = "hcloud slurm config --out writes them again"
        yield CheckResult("files", CheckStatus.ERROR, f"{len(wrong)} not as needed", tuple(wrong), hint)
    else:
        yield CheckResult("files", CheckStatus.OK, f"beside slurm.conf in {place}")


def _file(path: Path, text: str) -> str:
    """What is wrong with a file; a job_submit.lua may do more than ours."""
    if not path.is_file():
        return f"{path}: missing"
    has = path.read_text(encoding="utf-8", errors="replace")
    if has != text and not (path.name == config.LUA and MARK in has):
        return f"{path}: differs from what hcloud writes"
    if text.startswith("#!") and not path.stat().st_mode & 0o111:
        return f"{path}: is not executable"
    return ""


def _folder(site: SlurmSite) -> CheckResult:
    for folder in (site.claims, site.tickets, site.begun):
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            hint = f"make it, and give it to SlurmUser: install -d -o slurm {folder}"
            return CheckResult("folder", CheckStatus.ERROR, f"{folder} cannot be written to", hint=hint)
    return CheckResult("folder", CheckStatus.OK, str(site.folder))


def _rights(found: Mapping[str, str]) -> CheckResult:
    """Whoever runs hcloud changes nodes and other users' jobs."""
    import getpass

    user, owner = getpass.getuser(), found.get("slurmuser", "").partition("(")[0]
    if user in ("root", owner):
        return CheckResult("rights", CheckStatus.OK, f"{user} may change nodes and jobs")
    hint = f"run hcloud as {owner}, or make {user} an operator: sacctmgr modify user {user} set adminlevel=operator"
    return CheckResult("rights", CheckStatus.WARNING, f"{user} is neither root nor SlurmUser ({owner})", hint=hint)
