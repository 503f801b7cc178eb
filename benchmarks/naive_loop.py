"""What most people write first: RunInstances one by one, without a token, and each id put into a file afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FILE = "ids.txt"
TAG = "naive-loop"


def client() -> Any:
    """A client with everything as the SDK has it."""
    import boto3

    return boto3.client("ec2", region_name="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def run(arguments: list[str]) -> int:
    """Launch until the file names as many as are wanted."""
    wanted, kept = int(arguments[0]), Path(FILE)
    ec2 = client()
    tags = [{"ResourceType": "instance", "Tags": [{"Key": TAG, "Value": "yes"}]}]
    for _ in range(wanted - len(known(kept))):
        order = {"ImageId": "ami-12345678", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
        made = ec2.run_instances(**order, TagSpecifications=tags)["Instances"][0]["InstanceId"]
        with kept.open("a") as file:
            file.write(made + "\n")
    return 0


def known(kept: Path) -> list[str]:
    """The ids that the file names."""
    return kept.read_text().split() if kept.exists() else []
