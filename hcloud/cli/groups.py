"""Options of several verbs as values: a verb takes a group, and the command line shows its options one by one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cached_property, partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from hcloud.cli.flags import OUTPUT, AsJson, CloudState, Configuration, Now, WhichCloud
from hcloud.errors import HcloudError, UsageError
from hcloud.usecases.asked import moment

if TYPE_CHECKING:
    from hcloud.usecases.live.ground import LiveGround
    from hcloud.usecases.live.places import CloudSelection
    from hcloud.views.console import Terminal
    from hcloud.views.document import Content
    from hcloud.views.escaped import Written
    from hcloud.views.page.parts import PageSection

Tabular = Annotated[Literal["table", "json", "csv"], OUTPUT]
Sentences = Annotated[Literal["table", "json"], OUTPUT]
T = TypeVar("T")
V = TypeVar("V", bound=Callable[..., None])


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb as Typer takes it: each parameter that is a group (a dataclass of annotated options) in its place as the
    options of that group."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    told: list[Parameter] = []
    for name, parameter in signature(verb).parameters.items():
        if name not in groups:
            told.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
            continue
        options = get_type_hints(groups[name], include_extras=True)
        told += [
            Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=options[option.name])
            for option in fields(groups[name])
        ]

    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        which = next((group for group in given.values() if isinstance(group, StateFlags)), StateFlags())
        with naming(which.flags):
            verb(**given)

    called.__name__, called.__doc__, called.__module__ = verb.__name__, verb.__doc__, verb.__module__
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in told}
    called.__signature__ = signature(verb).replace(parameters=told)  # type: ignore[attr-defined]
    return called


class Verb(typer.Typer):
    """A verb or, with the ``help`` of all of them, a group of verbs; their parameters may be groups of options."""

    def __init__(self, help: str | None = None, **more: Any) -> None:  # noqa: A002 - as Typer calls it
        super().__init__(help=help, no_args_is_help=help is not None, pretty_exceptions_enable=False, **more)
        if help is not None:
            self.callback()(lambda: None)  # a group of one verb is a group, too

    def command(self, name: str | None = None, **more: Any) -> Callable[[V], V]:
        """Add a verb."""
        add = super().command(name, **more)

        def added(verb: V) -> V:
            add(grouped(verb))
            return verb

        return added


@dataclass(frozen=True)
class FormOfResult:
    """How a result is printed; each group of options names its forms by the type of ``output``."""

    output: str = "table"
    json_: AsJson = False

    def __post_init__(self) -> None:
        """Refuse two forms before any work."""
        if self.json_ and self.output not in ("table", "json"):
            raise UsageError(f"--json and --output {self.output} name two forms", hint="leave one of them out")

    @property
    def form(self) -> str:
        """The form that is asked for."""
        return "json" if self.json_ else self.output

    @property
    def is_document(self) -> bool:
        """Whether stdout is for a document."""
        return self.form in ("json", "csv")

    def tell(
        self,
        terminal: Terminal,
        document: Callable[[], Content],
        screen: Callable[[], None],
        **written: Callable[[], Written],
    ) -> None:
        """Print it as the document, as one of the forms that are ``written``, as the document's table, or else on the
        screen."""
        if self.form == "json":
            terminal.write_json(document())
        elif self.form in written:
            terminal.write(written[self.form]())
        elif self.form == "csv":
            from hcloud.views.rows import csv_of

            terminal.write(csv_of(document()))
        else:
            screen()


@dataclass(frozen=True)
class FormAndTime(FormOfResult):
    """How a result is printed, and the time a verb works at."""

    now: Now = None

    def __post_init__(self) -> None:
        """Refuse a time that cannot be read before any work, too."""
        super().__post_init__()
        self.at  # noqa: B018

    @cached_property
    def at(self) -> datetime:
        """What ``--now`` says, else the clock."""
        return moment(self.now)

    def tell_result(
        self,
        terminal: Terminal,
        found: T,
        document: Callable[[T, datetime], Content],
        screen: Callable[[T, Terminal], None],
        **written: Callable[[T], Written],
    ) -> None:
        """Print what was found in the form that is asked for, each made of the result alone."""
        forms = {form: partial(write, found) for form, write in written.items()}
        self.tell(terminal, lambda: document(found, self.at), lambda: screen(found, terminal), **forms)


@dataclass(frozen=True)
class Shown(FormOfResult):
    """A table, JSON or CSV."""

    output: Tabular = "table"


@dataclass(frozen=True)
class Printed(FormAndTime):
    """The same as of a time."""

    output: Tabular = "table"


@dataclass(frozen=True)
class MarkdownPrinted(FormAndTime):
    """A table, JSON, Markdown or CSV, as of a time."""

    output: Annotated[Literal["table", "json", "md", "csv"], OUTPUT] = "table"

    def tell_sections(
        self,
        terminal: Terminal,
        found: T,
        document: Callable[[T, datetime], Content],
        sections: Callable[[T], Sequence[PageSection]],
    ) -> None:
        """Print what was found, which people read in sections."""
        from hcloud.views.markdown import markdown, show_sections

        self.tell(
            terminal,
            lambda: document(found, self.at),
            lambda: show_sections(sections(found), terminal),
            md=lambda: markdown(sections(found)),
        )


@dataclass(frozen=True)
class PagePrinted(FormAndTime):
    """A table, JSON, Markdown, a page of HTML or CSV, as of a time."""

    output: Annotated[Literal["table", "json", "md", "html", "csv"], OUTPUT] = "table"


@dataclass(frozen=True)
class Told(FormOfResult):
    """Sentences or JSON: what was done."""

    output: Sentences = "table"


@dataclass(frozen=True)
class ToldAt(FormAndTime):
    """The same as of a time."""

    output: Sentences = "table"


def nobody(text: str) -> None:
    """Hear nothing."""


def _flags(given: Mapping[str, object]) -> dict[str, str]:
    return {flag: shlex.quote(str(value)) for flag, value in given.items() if value}


@contextmanager
def naming(flags: Mapping[str, str]) -> Iterator[None]:
    """Let commands that a hint names have the ``flags`` that were given."""
    try:
        yield
    except HcloudError as error:
        if flags:
            from hcloud.views.console import pasteable

            error.hint = pasteable(error.hint, flags)
        raise


@dataclass(frozen=True)
class CloudFlags:
    """Which cloud a verb works on, and what is remembered of it."""

    file: Configuration = None
    cloud: WhichCloud = None
    state: CloudState = None

    @contextmanager
    def opened(
        self, at: datetime, terminal: Terminal | None = None, selection: CloudSelection | None = None
    ) -> Iterator[LiveGround]:
        """The cloud that flags and configuration name (or the ``selection`` made of them), opened; the ``terminal``
        hears of what takes long there. Commands that it and hints name have the same flags."""
        from hcloud.readers.configuration.config import load_config
        from hcloud.usecases.live.ground import opened

        note = nobody if terminal is None else terminal.note
        if terminal is not None:
            terminal.flags.update(self.flags)
        with naming(self.flags), opened(load_config(self.file), selection or self.selection(), at, note) as here:
            yield here

    def selection(self) -> CloudSelection:
        """What the command line says of the cloud."""
        from hcloud.usecases.live.places import CloudSelection

        return CloudSelection(self.cloud, self.state)

    @property
    def flags(self) -> dict[str, str]:
        """These, as they are given again."""
        return _flags({"--file": self.file, "--cloud": self.cloud, "--state": self.state})


@dataclass(frozen=True)
class StateFlags:
    """Which state a verb looks into."""

    state: CloudState = None
    file: Configuration = None

    @property
    def place(self) -> str:
        """Where it is, by flag, environment or configuration."""
        from hcloud.usecases.live.state import state_place

        return state_place(self.state, self.file)

    @property
    def flags(self) -> dict[str, str]:
        """These, as they are given again."""
        return _flags({"--file": self.file, "--state": self.state})
