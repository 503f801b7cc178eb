"""Only those of the SDK's clients are imported that are used, and whoever else uses the SDK finds it whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

MADE = """
import sys
from hcloud.providers.gcp.settings import GoogleSettings
from hcloud.providers.gcp.wire import Wire
made = Wire(GoogleSettings("shop", "us-central1", endpoint="http://127.0.0.1:9"), lambda seconds: None)
made.client("InstancesClient"), made.client("RegionCommitmentsClient")
"""
CLIENTS = "print(sum(m.startswith('google.cloud.compute_v1.services.') and m.count('.') == 4 for m in sys.modules))"
OTHERS = {
    "dotted": "import google.cloud.compute_v1; sdk = google.cloud.compute_v1",
    "name": "from google.cloud.compute_v1 import DisksClient; import google.cloud.compute_v1 as sdk",
}
WHOLE = """
assert sdk.DisksClient and sdk.__version__
assert sdk.InstancesClient is type(made.client("InstancesClient"))
assert sdk.GetRegionRequest is made.types.GetRegionRequest
print(hasattr(sdk, "nonsense"))
"""
FORKED = """
import os
for way in ways:
    sys.stdout.flush()
    if not os.fork():
        exec(way)
        break
    assert not os.wait()[1]
"""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_few_clients_are_imported_and_others_find_the_sdk_whole() -> None:
    """Each way in a process of its own, forked where few are imported: to import all takes seconds."""
    ways = [f"{way}\n{WHOLE}" for way in OTHERS.values()]
    few, *found = printed(f"{MADE}{CLIENTS}\nways = {ways!r}\n{FORKED}").split("\n")
    assert int(few) < 8
    assert found == ["False"] * len(OTHERS)


@pytest.mark.slow
def test_who_found_the_sdk_before_has_it_whole_after() -> None:
    assert printed(f"from google.cloud import compute_v1 as sdk\n{MADE}\n{WHOLE}") == "False"


@pytest.mark.slow
def test_without_the_sdk_the_extra_is_named() -> None:
    hidden = "import sys; sys.modules['google.cloud.compute_v1'] = None\n"
    asked = "from hcloud.providers.gcp.sdk import messages\ntry:\n    messages()\nexcept Exception as error:\n"
    said = printed(f"{hidden}{asked}    print(repr(error))")
    assert "MissingExtraError" in said
    assert "google-cloud-compute" in said
