"""The least that a program can do to see what runs: list every machine with the cloud's own SDK, and count them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hcloud.fake.semantics import semantics_of

PEERS = {"aws": "boto3", "gcp": "google-cloud-compute", "azure": "azure-mgmt-compute"}


def of_aws(url: str) -> int:
    """Every page of DescribeInstances."""
    import boto3

    ec2 = boto3.client("ec2", region_name="us-east-1", endpoint_url=url)
    pages = ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 1000})
    return sum(len(r["Instances"]) for page in pages for r in page["Reservations"])


def of_google(url: str) -> int:
    """Every page of instances.aggregatedList."""
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import compute_v1

    options = ClientOptions(api_endpoint=url)
    client: Any = compute_v1.InstancesClient(credentials=AnonymousCredentials(), client_options=options)
    request = compute_v1.AggregatedListInstancesRequest(project=semantics_of("gcp").listening_account, max_results=500)
    return sum(len(scope.instances) for _, scope in client.aggregated_list(request=request))


def of_azure(url: str) -> int:
    """Every page of the virtual machines of a subscription."""
    from azure.core.credentials import AccessToken
    from azure.core.pipeline.policies import SansIOHTTPPolicy
    from azure.mgmt.compute import ComputeManagementClient

    class Anyone:
        def get_token(self, *_scopes: str, **_more: object) -> Any:
            return AccessToken("rehearsal", 2**31)

    policy: Any = SansIOHTTPPolicy()  # the usual one sends no token without TLS
    made: Any = ComputeManagementClient
    client = made(Anyone(), semantics_of("azure").listening_account, base_url=url, authentication_policy=policy)
    return sum(1 for _ in client.virtual_machines.list_all())


LISTS: Mapping[str, Any] = {"aws": of_aws, "gcp": of_google, "azure": of_azure}


def main(cloud: str, url: str, expected: str) -> int:
    found = LISTS[cloud](url)
    print(found)
    return 0 if found == int(expected) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
