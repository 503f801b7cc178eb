"""A fake cloud whose machines really run their user data here, and a real slurmctld that their slurmd joins."""

from __future__ import annotations

import base64
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from slurm_cluster import SEARCHED, Cluster, cluster

from benchmarks.children import Child
from hcloud.fake.boxes import Box
from hcloud.fake.faults import FaultPlan
from hcloud.fake.ledger import Rented
from hcloud.fake.server import FakeServer, SizedCloud, ledger_document
from hcloud.model.catalog import Provider
from hcloud.model.clouds.known import CLOUDS
from hcloud.profiling.local.machines import ProcessHost
from hcloud.usecases.live.decide import StreamMarket, make_setup
from hcloud.usecases.live.operating.asking import ask
from hcloud.usecases.live.slurm import groups_of
from hcloud.usecases.tools.fake import environment, executing, made
from slurm.controllers import Controllers

STORES = {"aws": "aws:hcloud-slurm", "gcp": "gcp:hcloud-slurm", "azure": "azure:vault"}
NAMES = {"aws": "hcloud-slurm/{}", "gcp": "hcloud-slurm-{}", "azure": "vault/slurm-{}"}
STRATEGY = "OdM"
"""Nothing is reserved: every machine comes because a job needs it."""
NODES = 4


@dataclass
class Ground:
    """A cluster, the fake its machines come from, and a folder that both see, as a cluster shares one."""

    slurm: Cluster
    cloud: SizedCloud
    url: str
    box: Box
    host: ProcessHost
    shared: Path
    controllers: Controllers

    @property
    def secret(self) -> str:
        """munge's key as the store has it."""
        return base64.b64encode((self.slurm.home / "munge.key").read_bytes()).decode()

    def fill_store(self) -> None:
        """What the administrator puts into the cloud's store."""
        name = NAMES[self.cloud.name]
        self.box.put(name.format("munge-key"), self.secret)
        self.box.put(name.format("controller"), f"localhost:{self.slurm.port}")

    def controller(self, *words: str) -> Child:
        """A verb of 'hcloud operate' in a process of its own."""
        return self.controllers.start(words, self.environment, self.shared)

    @property
    def environment(self) -> dict[str, str]:
        """Of a process with this slurmctld and this cloud."""
        ours = {"SLURM_CONF": str(self.slurm.conf), "PATH": f"{SEARCHED}:{Path(sys.executable).parent}"}
        return os.environ | environment(self.cloud.name, self.url) | ours

    def drain(self, running: Child) -> str:
        """Ask a controller to end when the jobs have ended; what it printed."""
        ask(str(self.shared / ".hcloud"), "drain")
        assert running.wait(60) == 0, running.said
        return running.said

    def submit(self, seconds: float, *options: str, until: str = "") -> str:
        """A job that notes in a ledger of its own that it begins and ends; it waits for a file besides."""
        ledger, here = self.shared / "ledger", self.shared
        waits = f"until [ -e {here / until} ]; do sleep 0.1; done && " if until else ""
        command = f"echo begin $SLURM_JOB_ID >> {ledger}; {waits}sleep {seconds} && echo end $SLURM_JOB_ID >> {ledger}"
        return self.slurm.submit(command, "--mem=64", "-t", "5", "-D", str(here), "-o", f"{here}/out.%j", *options)

    def ledger(self) -> Counter[str]:
        """What jobs noted."""
        path = self.shared / "ledger"
        return Counter(path.read_text().splitlines()) if path.exists() else Counter()

    def machines(self) -> list[Rented]:
        """Every machine that the fake ever had, by its own ledger."""
        with self.cloud.ledger.held():
            return sorted(self.cloud.ledger.machines.values(), key=lambda m: m.made_at)

    def is_clean(self) -> bool:
        """No machine at the fake, none of its processes here, and no node that Slurm counts as up."""
        nodes = (n for n in self.slurm.commands.nodes() if self.slurm.site.is_ours(n.name))
        up = [n for n in nodes if "POWERED_DOWN" not in n.flags]
        return not self.live() and not up and not self.host.alive()

    def journal(self) -> str:
        """What hcloud noted."""
        return (self.shared / ".hcloud" / "operate" / "journal.jsonl").read_text()

    def everything_told(self) -> str:
        """All that the fake was ever sent or saw on a console."""
        return repr(ledger_document(self.cloud))

    def everything_kept(self) -> bytes:
        """All files that hcloud and the jobs wrote: state, journal, output."""
        found = [*self.shared.rglob("*"), *self.slurm.site.folder.rglob("*"), self.slurm.home / "hcloud.conf"]
        return b"".join(path.read_bytes() for path in found if path.is_file())

    def flags_of(self, job: str) -> frozenset[str]:
        """The flags of the node that a job runs on."""
        name = self.slurm.job(job).nodes
        return next((n.flags for n in self.slurm.commands.nodes() if n.name == name), frozenset())

    def live(self) -> tuple[Rented, ...]:
        """The machines that the fake counts as there."""
        return self.cloud.ledger.live(self.cloud.clock.now())


@contextmanager
def ground(
    home: Path, controllers: Controllers, name: str, join: int = 15, *, probe: bool = False, **plan: object
) -> Iterator[Ground]:
    """All of it; nothing outlasts the context."""
    shared, ctl = home / "shared", home / "ctl"
    shared.mkdir()
    ctl.mkdir()
    shared.joinpath("hcloud.yaml").write_text(f"markets: [{{provider: {name}}}]\n")
    home.chmod(0o755)
    region = CLOUDS[name].home_region
    setup = make_setup(STRATEGY, 0, StreamMarket(Provider(name), region))
    groups = tuple(replace(group, on_demand=NODES) for group in groups_of(setup))
    with cluster(ctl, groups, store=STORES[name], join=join, probe=probe) as slurm:
        boot = f"ln -s /run/munge/munge.socket.2 {ctl}/munge.socket; mkdir {ctl}/spool"
        box = Box(home / "secrets", home / "commands", (ctl,), boot)
        box.install()
        cloud = made(name, FaultPlan.model_validate(plan))
        with executing(cloud, box) as host, FakeServer(cloud) as running:
            yield Ground(slurm, cloud, running.url, box, host, shared, controllers)
            controllers.close()
