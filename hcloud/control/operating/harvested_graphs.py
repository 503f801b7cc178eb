"""A job on idle capacity that is a graph of tasks, as its journal tells of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hcloud.model.running.job_graph import JobGraph


@dataclass(slots=True)
class GraphRecord:
    """A graph: how many tasks of each vertex are ``undone``, which tasks are ``away`` on machines of their own (with
    their vertex), how often tasks were killed, and whether what has not begun ``moves`` to machines of its own."""

    graph: JobGraph
    came: float
    classes: tuple[str, ...] = ()
    undone: dict[str, int] = field(default_factory=dict)
    away: dict[str, str] = field(default_factory=dict)
    kills: int = 0
    moves: bool = False
    result: str = ""
    why: str = ""

    @property
    def is_over(self) -> bool:
        """Whether its result is known."""
        return bool(self.result)

    @property
    def state(self) -> str:
        """Where it is in a word."""
        return self.result or ("moving" if self.moves else "open")

    @property
    def done(self) -> int:
        """How many of its tasks are done."""
        return self.graph.tasks - sum(self.undone.values())

    def open_vertices(self) -> set[str]:
        """The vertices that may begin: those before them are done."""
        return {v.name for v in self.graph.vertices if not any(self.undone[before] for before in v.after)}

    def image(self) -> GraphRecord:
        """The same, apart."""
        return replace(self, undone=dict(self.undone), away=dict(self.away))
