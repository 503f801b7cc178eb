"""Only those of the SDK's clients are imported that are used, and whoever else uses the SDK finds it whole."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from hcloud.errors import MissingExtraError
from hcloud.providers.gcp import sdk

MADE = """
import sys
from hcloud.providers.gcp import provider
print([m for m in sys.modules if m.startswith('google')])
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.wire import Wire
made = Wire(GoogleSettings("shop", "us-central1", endpoint="http://127.0.0.1:9"), lambda seconds: None)
made.client("InstancesClient"), made.client("RegionCommitmentsClient")
print(sum(m.startswith('google.cloud.compute_v1.services.') and m.count('.') == 4 for m in sys.modules) < 8)
"""


@pytest.mark.slow
def test_the_sdk_is_loaded_when_it_is_used_and_then_few_clients_are() -> None:
    told = subprocess.run([sys.executable, "-c", MADE], capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:2] == ["[]", "True"]


SMALL = {
    "": "",
    "sdk_v1": "from .services.disks import DisksClient\nfrom .services.instances import InstancesClient\n"
    "from .types import Request\n__version__ = '1'\n",
    "sdk_v1/services": "",
    "sdk_v1/services/disks": "class DisksClient: ...\n",
    "sdk_v1/services/instances": "class InstancesClient: ...\n",
    "sdk_v1/types": "class Request: ...\n",
}
"""A package made as Google's is, which takes seconds to import whole."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, text in SMALL.items():
        (tmp_path / "small_cloud" / name).mkdir(exist_ok=True)
        (tmp_path / "small_cloud" / name / "__init__.py").write_text(text)
    for name in [f"small_cloud/{name}".rstrip("/").replace("/", ".") for name in SMALL]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sdk, "PACKAGE", "small_cloud.sdk_v1")
    return "small_cloud.sdk_v1"


@pytest.mark.parametrize("whole_first", [False, True])
def test_whoever_else_uses_the_sdk_finds_it_whole(package: str, whole_first: bool) -> None:
    """Once it is whole it is as whoever found it before."""
    if whole_first:
        import_module(package)
    types, used = sdk.messages(), sdk.client("InstancesClient")
    found = import_module(package)
    assert (f"{package}.services.disks" in sys.modules) is whole_first
    assert found.DisksClient
    assert f"{package}.services.disks" in sys.modules
    assert (found.InstancesClient, found.Request, found.__version__) == (used, types.Request, "1")
    assert not hasattr(found, "nonsense")
    assert (sdk.messages(), sdk.client("InstancesClient")) == (types, used)
    assert import_module(package) is found is import_module("small_cloud").sdk_v1


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "PACKAGE", "hcloud.no_such_sdk")
    with pytest.raises(MissingExtraError, match="google-cloud-compute"):
        sdk.messages()
