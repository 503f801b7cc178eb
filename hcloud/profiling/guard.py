"""The owner of all a run starts and makes: whatever way the run ends, it is gone afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from hcloud.profiling.programs import orphans

_WATCHER_PATIENCE = 3 * orphans.PATIENCE


class Guard:
    """Marks what is started, and closes to nothing; a watcher process does the same should this one be killed."""

    def __init__(self) -> None:
        self.token = f"{os.getpid()}-{orphans.started_at(os.getpid())}"
        self._watcher = subprocess.Popen(
            [sys.executable, "-P", orphans.__file__, self.token],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
            bufsize=1,
            cwd="/",
        )
        self.folder = Path(tempfile.mkdtemp(prefix=orphans.PREFIX))
        self._tell("folder", self.folder)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of everything that is started."""
        return {**os.environ, orphans.MARK: self.token}

    def own_group(self, group: Path) -> None:
        """Take charge of a control group before it is made, so that none is ever without an owner."""
        self._tell("group", group)

    def new_file(self, content: bytes) -> Path:
        """A file of its own in the run's folder."""
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return Path(name)

    def close(self) -> None:
        """End and remove everything."""
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        self._watcher.wait(_WATCHER_PATIENCE)

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tell(self, kind: str, path: Path) -> None:
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(f"{kind} {path}\n")
        self._watcher.stdin.flush()
