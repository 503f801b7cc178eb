"""What most people write first: RunInstances one by one, without a token, and each id put into a file afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FILE = "ids.txt"
TAG = "naive-loop"


def client(url: str) -> Any:
    """A client with everything as the SDK has it, but for where it goes and as whom."""
    import boto3

    keys = {"aws_access_key_id": "rehearsal", "aws_secret_access_key": "rehearsal"}
    return boto3.client("ec2", region_name="us-east-1", endpoint_url=url, **keys)


def run(arguments: list[str]) -> int:
    """Launch until the file names as many as are wanted."""
    wanted, kept = int(arguments[0]), Path(FILE)
    ec2 = client(os.environ["AWS_ENDPOINT_URL"])
    tags = [{"ResourceType": "instance", "Tags": [{"Key": TAG, "Value": "yes"}]}]
    for _ in range(wanted - len(known(kept))):
        order = {"ImageId": "ami-12c6146b", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
        made = ec2.run_instances(**order, TagSpecifications=tags)["Instances"][0]["InstanceId"]
        with kept.open("a") as file:
            file.write(made + "\n")
    return 0


def known(kept: Path) -> list[str]:
    """The ids that the file names."""
    return kept.read_text().split() if kept.exists() else []
