"""``hcloud init``: a commented hcloud.yaml, every key of the schema with its default, its unit and what it does."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pydantic import BaseModel

from hcloud.errors import HcloudError, UsageError, writing
from hcloud.readers.configuration.config import FILE_NAME, Config, MarketSection, OwnedSection
from hcloud.readers.configuration.live_sections import FleetSection
from hcloud.readers.safe_yaml import load_yaml
from hcloud.store.files.whole import write_shown
from hcloud.units import format_duration
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX

DURATION = "duration"
COMMENT_COLUMN, WIDTH = 30, 110
_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*")


@dataclass(frozen=True, slots=True)
class KeyText:
    """What a key of the configuration does, and its unit where it has one."""

    what: str
    unit: str = ""

    @property
    def comment(self) -> str:
        """Both in one line."""
        return f"{self.what} [{self.unit}]" if self.unit else self.what


_HEAD = (
    "hcloud.yaml: what ran, at which prices, which offers a plan may choose from, and how far it looks ahead.",
    "Every key is here with its default; delete those you do not change. Durations: 90s, 10min, 1h, 7d, 2w, 1y.",
    "'hcloud validate' checks this file and what it names; 'hcloud validate --schema' prints its JSON schema.",
    "HYC_<SECTION>__<KEY> in the environment goes over this file, flags of a verb over both.",
)
SECTIONS = {
    "format_version": "version of this format; an unknown major version is refused",
    "workload": "What ran. One of path and scenario; or leave both and name it: hcloud plan TRACE.csv",
    "prices": "Which prices count",
    "markets": "The offers a plan may choose from; one entry a provider",
    "planning": "How the workload is stretched over the horizon, and how much is reserved",
    "profiles": "What was measured of the applications: their jobs get the size and the neighbours they need",
    "operation": "Simulate how strategies would run it; without a strategy the plan is arithmetic on the demand alone",
    "live": "The account that apply acts on; without a cloud a plan changes nothing",
    "limits": "How far one apply may go; null: no limit (ended: a fifth of the machines, 20 at most)",
    "fleet": "Machines to keep running, instead of those that the plan decides on",
    "commitments": "What 'hcloud commit apply' may buy; HYC_ALLOW_PURCHASE=1 has to be set as well",
    "report": "How 'hcloud report' groups what was spent",
    "owned": "Commitments that are already paid for; they are used first and never bought again",
}
KEYS: Mapping[str, Mapping[str, KeyText]] = {
    "workload": {
        "path": KeyText("a trace or a history; relative to this file"),
        "scenario": KeyText("a generated one instead: static, low-variability or high-variability"),
        "format": KeyText("format of the file; auto: by its content; all: 'hcloud workload --help'"),
        "options": KeyText("keys for the format, as {default_cores: 2}; all: 'hcloud workload --help'"),
        "window": KeyText("the part that counts: START..END in seconds or times, or as 14d; null: by its jobs"),
    },
    "prices": {
        "book": KeyText("user: what you imported, over the bundled tables; bundled: these alone"),
        "overlay": KeyText("a file of negotiated prices, laid over all others"),
        "max_age": KeyText("older prices stop a plan; null: never", DURATION),
        "warn_age": KeyText("older prices are warned about", DURATION),
    },
    "markets": {
        "provider": KeyText("aws, gcp or azure"),
        "regions": KeyText("allowed regions; none: us-east-1, us-central1 or eastus"),
        "families": KeyText(
            "allowed families, with * and ?; none: all current ones that are neither burstable nor flex"
        ),
        "architectures": KeyText("x86_64, arm64 or both"),
        "vcpus": KeyText("size of every instance; auto: all sizes, the cheapest", "vCPU"),
        "os": KeyText("operating system whose price counts, for example linux or windows"),
        "tenancy": KeyText("shared or dedicated hardware, as the price book names it"),
        "options": KeyText("allowed purchase options, for example [committed-use]; none: all"),
        "terms": KeyText("allowed lengths of commitments", "years"),
        "payments": KeyText("allowed ways to pay for commitments"),
    },
    "planning": {
        "horizon": KeyText("how far is planned; whole hours", DURATION),
        "step": KeyText("demand is averaged over such steps; auto: 1h for a day or more, else 5min", DURATION),
        "growth_per_year": KeyText("0.2: a fifth more demand a year", "share"),
        "headroom": KeyText("0.1: a tenth more capacity than demand", "share"),
        "warm_up": KeyText("dropped from the start of the workload", DURATION),
        "history_1y": KeyText("a plan that buys a 1-year term on a shorter trace warns first (ours)", DURATION),
        "history_3y": KeyText("the same for a 3-year term (ours)", DURATION),
        "regret_quantile": KeyText("size the reserve by regret, for example 0.9; null: by the forecast", "quantile"),
        "futures": KeyText("futures drawn to judge the risk", "count"),
        "level_prior": KeyText("uncertainty of a week's level of demand: standard deviation of its logarithm (ours)"),
        "level_prior_weeks": KeyText("weeks of trace that this prior is worth (ours)", "weeks"),
        "growth_prior": KeyText("uncertainty of growth a year: standard deviation of its logarithm (ours)"),
        "falls": KeyText("what if demand falls by these parts", "share"),
        "spot_share_of_batch": KeyText("part of the batch demand that may be interrupted", "share"),
        "peak_overprovision": KeyText("margin of the rival that reserves the peak", "share"),
        "mix_types": KeyText("whether several instance types may be reserved together"),
        "mix_min_saving": KeyText("mix types only where that saves at least this", "share"),
        "size_waste": KeyText("count in machines whose rounding up wastes no more of the mean demand (ours)", "share"),
        "divisible": KeyText("jobs that may run on several machines: all, services or none"),
        "seed": KeyText("seed of scenarios and futures"),
    },
    "profiles": {
        "folder": KeyText("folder of profiles, named as the workload's apps; null: jobs get what they ask for"),
        "corpus": KeyText("applications seen before: bundled, a folder of profiles, or a matrix file"),
    },
    "operation": {
        "strategy": KeyText("auto, or names as HF,HM, or the file of your own; null: no simulation"),
        "qos": KeyText("share of jobs that shall keep 95 % of their performance", "share"),
        "budget": KeyText("most a month may cost; null: no limit", "$/month"),
        "seeds": KeyText("seeds that every point is simulated with at least", "count"),
        "runs": KeyText("most simulations; seeds are added for what the choice is open between (ours)", "count"),
        "confidence": KeyText(
            "of paired intervals; among points that cannot be told apart the cheaper is chosen (ours)", "share"
        ),
        "alike": KeyText("differences below this part of all jobs, or of the cost, count as none (ours)", "share"),
        "own_fleet_jobs": KeyText("a plan's own fleet is simulated for so many jobs at most (ours: 5 s)", "count"),
        "cloud": KeyText("model of the cloud: paper, measured-aws, a file; null: the market's own, as measured"),
    },
    "live": {
        "cloud": KeyText("aws, gcp, azure, local, or fake and fake:PLAN.yaml to rehearse; null: none"),
        "region": KeyText("its region; null: the first of the market"),
        "account": KeyText("AWS account, Google project or Azure subscription; another one is refused"),
        "endpoint": KeyText("where its interface is, if not where the cloud has it"),
        "project": KeyText("tag of all machines: lower-case letters, digits, - and _"),
        "state": KeyText("where the state is: a directory, s3://, gs:// or Azure's https://"),
        "zones": KeyText("allowed zones, the preferred one first; none: all of the region"),
        "settings": KeyText("image, network and the like, as {image: ami-1}; all: docs/guides/operate.md"),
        "user_data": KeyText("a file with what machines run when they first start; plans hold only its SHA-256"),
        "max_plan_age": KeyText("apply refuses older plans", DURATION),
    },
    "limits": {
        "hourly": KeyText("most dollars an hour afterwards", "$/h"),
        "monthly": KeyText("most dollars a month afterwards", "$/month"),
        "increase": KeyText("most by which dollars an hour may rise", "$/h"),
        "ended": KeyText("to terminate more at once, state their number: --ends", "machines"),
    },
    "fleet": {
        "address": KeyText("its name in plans: lower-case letters, digits, - and _"),
        "instance_type": KeyText("instance type"),
        "count": KeyText("how many machines", "machines"),
        "option": KeyText("on-demand or spot"),
        "zones": KeyText("allowed zones, the preferred one first; none: those of live.zones"),
        "fallbacks": KeyText("types to use instead, in this order, where it is sold out"),
    },
    "commitments": {
        "enabled": KeyText("whether anything may be bought at all"),
        "ceiling": KeyText("most that all purchases together may commit; null: nothing is bought", "$"),
        "price_tolerance": KeyText("how far a price may move between plan and purchase", "share"),
        "valid_for": KeyText("how long a purchase plan may be used, once", DURATION),
        "max_plan_age": KeyText("older plans are not turned into purchases", DURATION),
        "max_price_age": KeyText("nor are plans made with older prices", DURATION),
    },
    "report": {
        "team_tag": KeyText("the tag of a machine that names its team"),
    },
    "owned": {
        "provider": KeyText("aws, gcp or azure"),
        "region": KeyText("region it holds in"),
        "instance_type": KeyText("type it was bought for"),
        "option": KeyText("its purchase option"),
        "term_years": KeyText("its length", "years"),
        "payment": KeyText("no-upfront, partial-upfront or all-upfront"),
        "os": KeyText("operating system"),
        "tenancy": KeyText("tenancy"),
        "count": KeyText("how many; or dollars_per_hour", "instances"),
        "dollars_per_hour": KeyText("for a savings plan, instead of count", "$/h"),
        "expires": KeyText("the day (UTC) at whose beginning it ends"),
    },
}
EXAMPLES: Mapping[str, tuple[type[BaseModel], Mapping[str, object]]] = {
    "owned": (
        OwnedSection,
        {
            "provider": "aws",
            "region": "us-east-1",
            "instance_type": "m6i.4xlarge",
            "option": "reserved-instance",
            "term_years": 1,
            "count": 10,
            "expires": "2027-06-30",
        },
    ),
    "fleet": (FleetSection, {"address": "web", "instance_type": "m6i.4xlarge", "count": 4}),
}
"""Lists that are empty by default, with an entry to start from."""


def write_config(directory: Path, workload: str | None, *, force: bool) -> Path:
    """Write hcloud.yaml into a directory and give its path.

    Raises HcloudError where one is there already (without ``force``), UsageError for a directory or workload that
    cannot be used.
    """
    path = directory / FILE_NAME
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: is not a directory")
    if (path.exists() or path.is_symlink()) and not force:
        raise HcloudError(f"{path} is already there and is left as it is", hint="--force replaces it")
    text = config_text(_workload(workload, directory))
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    write_shown(path, text)
    return path


def config_text(workload: Mapping[str, str] | None = None) -> str:
    """The commented file; it loads to the defaults, with the workload's keys in place of theirs."""
    config = Config()
    lines = [*(f"# {line}" for line in _HEAD)]
    lines += _key("format_version", config.format_version, KeyText(SECTIONS["format_version"]), "")
    for name in KEYS:
        lines += ["", f"# {SECTIONS[name]}"]
        if name == "markets":
            lines += ["markets:", *_entry(MarketSection(), KEYS[name])]
        elif name in EXAMPLES:
            lines += [f"{name}: []", f"# {name}:", *_example(name)]
        else:
            given = workload if name == "workload" and workload else {}
            lines += [f"{name}:", *_section(getattr(config, name), given, KEYS[name])]
    return "\n".join(lines) + "\n"


def _section(section: BaseModel, given: Mapping[str, str], texts: Mapping[str, KeyText]) -> Iterator[str]:
    for key, text in texts.items():
        yield from _key(key, given.get(key, getattr(section, key)), text, "  ")


def _entry(section: BaseModel, texts: Mapping[str, KeyText]) -> Iterator[str]:
    lines = [line for key, text in texts.items() for line in _key(key, getattr(section, key), text, "    ")]
    yield f"  - {lines[0].removeprefix('    ')}"
    yield from lines[1:]


def _example(name: str) -> Iterator[str]:
    """The keys of a list that is empty by default, as an example that only has to be uncommented."""
    section, example = EXAMPLES[name]
    fields = section.model_fields
    indent = "#   - "
    for key, text in KEYS[name].items():
        value = example.get(key, None if fields[key].is_required() else fields[key].default)
        yield from _key(key, value, text, indent)
        indent = "#     "


def _key(key: str, value: object, text: KeyText, indent: str) -> Iterator[str]:
    shown = yaml_value(value, is_duration=text.unit == DURATION)
    left = f"{indent}{key}: {shown}"
    column = max(COMMENT_COLUMN, len(left) + 1)
    words = textwrap.wrap(text.comment, width=WIDTH - column - 2)
    yield f"{left:<{column}}# {words[0]}"
    yield from (f"{'#' if indent.startswith('#') else '':<{column}}# {more}" for more in words[1:])


def yaml_value(value: object, *, is_duration: bool = False) -> str:
    """A default as a person writes it in YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and is_duration:
        return format_duration(value)
    if isinstance(value, tuple):
        return f"[{', '.join(yaml_value(v) for v in value)}]"
    if isinstance(value, dict):
        return "{}"
    text = str(value.value if isinstance(value, Enum) else value)
    if not isinstance(value, str) or (_PLAIN.fullmatch(text) and load_yaml(text, FILE_NAME) == text):
        return text
    escaped = text.replace("'", "''")
    return f'"{text}"' if text.replace(".", "").isdigit() else f"'{escaped}'"


def _workload(named: str | None, directory: Path) -> Mapping[str, str]:
    if named is None:
        return {}
    if named.startswith(SCENARIO_PREFIX):
        return {"scenario": named.removeprefix(SCENARIO_PREFIX)}
    path, home = Path(named).absolute(), directory.absolute()
    if not path.exists():
        raise UsageError(f"{named}: no such workload", hint=f"a file, or {SCENARIO_PREFIX}high-variability")
    return {"path": str(path.relative_to(home) if path.is_relative_to(home) else path)}
