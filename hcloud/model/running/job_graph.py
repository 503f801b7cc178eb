"""A job that is a graph of tasks: like tasks are a vertex, which begins when those it comes after are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hcloud.model.running.job import JobOrder


@dataclass(frozen=True, slots=True)
class GraphVertex:
    """So many like tasks of a command, each of about so many seconds, on so many thousandths of a vCPU and MiB;
    ``after`` names the vertices that have to be done before."""

    name: str
    tasks: int
    seconds: float
    cores: int
    memory: int
    command: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobGraph:
    """A job of several tasks; ``submit`` is when it was submitted, in seconds since 1970."""

    id: str
    submit: float
    vertices: tuple[GraphVertex, ...]
    app: str = ""

    @property
    def tasks(self) -> int:
        """How many tasks it has."""
        return sum(vertex.tasks for vertex in self.vertices)

    def orders(self) -> Iterator[tuple[str, JobOrder]]:
        """Its tasks, each with the name of its vertex. A command learns which task it is by its environment."""
        for vertex in self.vertices:
            for number in range(1, vertex.tasks + 1):
                told = ("env", f"HCLOUD_TASK={number}", f"HCLOUD_TASKS={vertex.tasks}")
                name, command = task_name(self.id, vertex.name, number), (*told, *vertex.command)
                size = (vertex.cores, vertex.memory)
                yield vertex.name, JobOrder(name, self.submit, command, *size, app=self.app, expect=vertex.seconds)


def task_name(graph: str, vertex: str, number: int) -> str:
    """What a task is called among all jobs."""
    return f"{graph}.{vertex}.{number}"
