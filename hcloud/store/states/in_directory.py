"""The state in a directory of the user's own, such as ``.hcloud``."""

from __future__ import annotations

from pathlib import Path

from hcloud.control.ports import Crash
from hcloud.store.files.crash import go_on
from hcloud.store.files.lock import FileLock, Flock
from hcloud.store.files.private_directory import Disk, PrivateDirectory
from hcloud.store.states.remembered import PlacedStore


class FileStateStore(PlacedStore):
    """The MendableStore port on a file system.

    ``crash`` is what is done at crash points (see hcloud.store.files.crash), ``disk`` and ``flock`` what the system
    is asked.
    """

    def __init__(
        self, directory: Path, crash: Crash = go_on, disk: Disk | None = None, flock: Flock | None = None
    ) -> None:
        place = PrivateDirectory(directory, crash, disk)
        super().__init__(place, FileLock(place, crash, flock), crash)
