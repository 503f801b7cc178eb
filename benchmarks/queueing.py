"""Two queues that every simulator can run, and what runs them: SimPy, plain Python, a C event kernel and hcloud."""

from __future__ import annotations

import ctypes
import heapq
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hcloud.catalog.shapes import named_type
from hcloud.model.catalog import BillingRule, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.strategy import Strategy, Value
from hcloud.policy.records import Ints, Reals, column
from hcloud.readers.clouds import load_cloud
from hcloud.readers.strategies import load_strategy
from hcloud.sim.machine_code.compiled import compiled
from hcloud.sim.setup.build import Setting, build, usual_capacity
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.shop import Rentable, Shop


@dataclass(frozen=True)
class Queue:
    """Jobs in the order in which they come, and equal servers; cores and GiB are whole numbers."""

    name: str
    submit: Reals
    duration: Reals
    cores: Ints
    memory: Ints
    servers: int
    capacity: int
    gib: int


def w1(jobs: int = 100_000) -> Queue:
    """Poisson arrivals and exponential service on 100 slots at 95 % load."""
    chance = np.random.default_rng(1)
    submit = np.cumsum(chance.exponential(1 / 95, jobs))
    ones = np.ones(jobs, np.int64)
    return Queue("W1", submit, chance.exponential(1.0, jobs), ones, ones, 100, 1, 1)


def w2(jobs: int = 100_000) -> Queue:
    """Jobs with vCPUs and memory on 200 servers of 16 vCPUs and 64 GiB at about 90 % load."""
    chance = np.random.default_rng(2)
    cores = chance.choice([1, 2, 4, 8], jobs, p=[0.5, 0.3, 0.15, 0.05]).astype(np.int64)
    memory = cores * chance.choice([2, 4], jobs)
    duration = chance.lognormal(4.0, 1.0, jobs)
    rate = 0.96 * 200 * 16 / float((cores * duration).mean())
    return Queue("W2", np.cumsum(chance.exponential(1 / rate, jobs)), duration, cores, memory, 200, 16, 64)


def with_simpy(queue: Queue) -> float:
    """Mean wait, as a SimPy user would write it: a process a job, first fit over free capacity, waiters in order."""
    import simpy

    env = simpy.Environment()
    free = [[queue.capacity, queue.gib] for _ in range(queue.servers)]
    waiting: deque[tuple[int, int, Any]] = deque()
    waited = [0.0] * len(queue.submit)
    submit, duration = queue.submit.tolist(), queue.duration.tolist()
    cores, memory = queue.cores.tolist(), queue.memory.tolist()

    def fit(need: int, gib: int) -> list[int] | None:
        for server in free:
            if server[0] >= need and server[1] >= gib:
                server[0] -= need
                server[1] -= gib
                return server
        return None

    def serve() -> None:
        while waiting:
            need, gib, granted = waiting[0]
            server = fit(need, gib)
            if server is None:
                return
            waiting.popleft()
            granted.succeed(server)

    def job(number: int) -> Generator[Any, Any, None]:
        granted = env.event()
        waiting.append((cores[number], memory[number], granted))
        serve()
        server = yield granted
        waited[number] = env.now - submit[number]
        yield env.timeout(duration[number])
        server[0] += cores[number]
        server[1] += memory[number]
        serve()

    def source() -> Generator[Any, Any, None]:
        for number, time in enumerate(submit):
            yield env.timeout(time - env.now)
            env.process(job(number))

    env.process(source())
    env.run()
    return sum(waited) / len(waited)


def with_simpy_resource(queue: Queue) -> float:
    """Mean wait of a queue for single slots with SimPy's own Resource, which suits W1 best."""
    import simpy

    env = simpy.Environment()
    slots = simpy.Resource(env, capacity=queue.servers)
    waited = [0.0]
    submit, duration = queue.submit.tolist(), queue.duration.tolist()

    def job(number: int) -> Generator[Any, Any, None]:
        with slots.request() as granted:
            yield granted
            waited[0] += env.now - submit[number]
            yield env.timeout(duration[number])

    def source() -> Generator[Any, Any, None]:
        for number, time in enumerate(submit):
            yield env.timeout(time - env.now)
            env.process(job(number))

    env.process(source())
    env.run()
    return waited[0] / len(submit)


def with_python(queue: Queue) -> float:
    """Mean wait with lists and heapq."""
    free_cores, free_memory = [queue.capacity] * queue.servers, [queue.gib] * queue.servers
    submit, duration = queue.submit.tolist(), queue.duration.tolist()
    cores, memory = queue.cores.tolist(), queue.memory.tolist()
    ends: list[tuple[float, int, int]] = []
    coming, head, waited, jobs = 0, 0, 0.0, len(submit)
    while head < jobs:
        if coming < jobs and (not ends or submit[coming] < ends[0][0]):
            now = submit[coming]
            coming += 1
        else:
            now, number, server = heapq.heappop(ends)
            free_cores[server] += cores[number]
            free_memory[server] += memory[number]
        while head < coming:
            need, gib = cores[head], memory[head]
            server = next((s for s, f in enumerate(free_cores) if f >= need and free_memory[s] >= gib), -1)
            if server < 0:
                break
            free_cores[server] -= need
            free_memory[server] -= gib
            waited += now - submit[head]
            heapq.heappush(ends, (now + duration[head], head, server))
            head += 1
    return waited / jobs


@cache
def _library() -> ctypes.CDLL:
    source = Path(__file__).with_name("event_kernel.c")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "kernel.so"
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", str(built), str(source)], check=True)
        library = ctypes.CDLL(str(built))
    library.mean_wait.restype = ctypes.c_double
    return library


def with_c(queue: Queue) -> float:
    """Mean wait with the C event kernel; needs a C compiler called cc."""
    arrays = (queue.submit, queue.duration, queue.cores, queue.memory)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    wholes = [ctypes.c_long(n) for n in (queue.servers, queue.capacity, queue.gib)]
    waited: float = _library().mean_wait(ctypes.c_long(len(queue.submit)), *pointers, *wholes)
    return waited


def hcloud_run(queue: Queue) -> tuple[Callable[[], object], Callable[[], float]]:
    """hcloud's engine over the same queue, built and ready: what runs it, and what then tells the mean wait."""
    jobs = len(queue.submit)
    zeros = np.zeros(jobs)
    none = np.zeros(jobs, np.int64)
    need = queue.cores * 1000
    vector = np.zeros((jobs, 10), np.int8)
    memory = queue.memory * 1024
    tasks = Tasks(queue.submit, queue.submit, queue.duration, none, need, need, memory, vector, vector, zeros, none, {})
    setting = Setting(first_fit_strategy(), quiet_cloud(), _shop(queue), queue.servers, 1, samples=0)
    world = build(setting, tasks, usual_capacity(jobs, queue.servers, journal=False))
    simulate = compiled()["sim.kernels.engine.simulate"]

    def waited() -> float:
        return float((column(world.tasks, "began") - queue.submit).sum() / jobs)

    return lambda: simulate(world, jobs + 1), waited


def quiet_cloud() -> CloudModel:
    """The paper's cloud without neighbours: jobs take as long as they are said to."""
    cloud = load_cloud("paper")
    silent = {"mean_load": 0.0, "amplitude": 0.0}
    neighbours = tuple(replace(p, value=silent.get(p.key, p.value)) for p in cloud.sections["neighbours"])
    return replace(cloud, sections={**cloud.sections, "neighbours": neighbours})


def first_fit_strategy() -> Strategy:
    """SR in strict order of arrival, placing each job on the first server that fits."""
    changes: dict[str, dict[str, Value]] = {
        "placement": {"order": "first-fit"},
        "queueing": {"overtaking": False},
    }
    base = load_strategy("SR")
    mechanisms = []
    for part in base.mechanisms:
        new = changes.get(part.name, {})
        parameters = tuple(replace(p, value=new.get(p.key, p.value)) for p in part.parameters)
        mechanisms.append(replace(part, parameters=parameters))
    return replace(base, mechanisms=tuple(mechanisms))


def _shop(queue: Queue) -> Shop:
    shape = named_type(Provider.GCP, "n1-standard-16", Decimal(queue.capacity), Decimal(queue.gib))
    origin = Origin("benchmark", date(2026, 11, 21))
    key = OfferKey(Provider.GCP, "us-central1", shape.name, PurchaseOption.ON_DEMAND)
    reserved = replace(key, option=PurchaseOption.RESERVED, term_years=1, payment=Payment.ALL)
    rentable = Rentable(shape, Offer(key, Decimal(1), Decimal(0), origin), None)
    return Shop((rentable,), 0, Offer(reserved, Decimal(0), Decimal(1), origin), BillingRule(1, 60), None)
