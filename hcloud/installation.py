"""Where this installation came from, and what installs it again: the package index is no answer, as nobody here owns
the distribution's name there."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

DISTRIBUTION = "hcloud-hybrid"
PLACEHOLDER = "git+https://HOST/OWNER/hcloud@COMMIT"
"""What stands for the repository and a commit of it where the installation does not tell its own."""


def pinned_source() -> str | None:
    """The repository and commit that this was installed from, as pip takes it (``git+https://...@commit``); None where
    it came from a folder or a file."""
    told = _direct_url()
    version = told.get("vcs_info")
    if not isinstance(version, dict) or "url" not in told:
        return None
    kind, commit = version.get("vcs"), version.get("commit_id")
    return f"{kind}+{told['url']}@{commit}" if kind and commit else None


def requirement(extra: str = "") -> str:
    """What pip is given to install this commit, with an extra where one is named."""
    named = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    return f"{named} @ {pinned_source() or PLACEHOLDER}"


def install_command(extra: str = "") -> str:
    """The command that installs this again with an extra: from the folder it came from, else from the repository at a
    commit."""
    folder = None if pinned_source() else _folder()
    if folder is None:
        return f"python -m pip install {shlex.quote(requirement(extra))}"
    return f"python -m pip install -e {shlex.quote(f'{folder}[{extra}]' if extra else str(folder))}"


def _folder() -> Path | None:
    """The source folder that this was installed from or runs in."""
    told = _direct_url()
    if "dir_info" in told:
        return Path(url2pathname(urlsplit(str(told["url"])).path))
    root = Path(__file__).resolve().parents[1]
    return root if (root / "pyproject.toml").is_file() else None


def _direct_url() -> dict[str, object]:
    """What the installer noted of the source (PEP 610); nothing where it came from an index or was not installed."""
    try:
        noted = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, json.JSONDecodeError):
        return {}
    return noted if isinstance(noted, dict) else {}
