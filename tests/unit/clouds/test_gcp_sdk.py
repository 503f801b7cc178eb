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
CLIENTS = "print(sum(m.startswith('google.cloud.compute_v1.services.') and m.count('.') == 4 for m in sys.modules) < 8)"
OTHERS = """
import google.cloud.compute_v1
sdk = google.cloud.compute_v1
from google.cloud.compute_v1 import DisksClient
import google.cloud.compute_v1 as whole
assert whole is sdk
"""
WHOLE = """
assert sdk.DisksClient and sdk.__version__
assert sdk.InstancesClient is type(made.client("InstancesClient"))
assert sdk.GetRegionRequest is made.types.GetRegionRequest
assert sys.modules["google.cloud.compute_v1"] is sdk
print(hasattr(sdk, "nonsense"))
"""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_few_clients_are_imported_and_others_find_the_sdk_whole() -> None:
    """Once it is whole it is as whoever found it before: to import all takes seconds."""
    assert printed(f"{MADE}{CLIENTS}{OTHERS}{WHOLE}{MADE}{WHOLE}").split("\n") == ["True", "False", "False"]


@pytest.mark.slow
def test_without_the_sdk_the_extra_is_named() -> None:
    hidden = "import sys; sys.modules['google.cloud.compute_v1'] = None\n"
    asked = "from hcloud.providers.gcp.sdk import messages\ntry:\n    messages()\nexcept Exception as error:\n"
    said = printed(f"{hidden}{asked}    print(repr(error))")
    assert "MissingExtraError" in said
    assert "google-cloud-compute" in said
