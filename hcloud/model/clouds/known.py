"""All clouds that are known, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hcloud.model.clouds.aws import AWS
from hcloud.model.clouds.azure import AZURE
from hcloud.model.clouds.facts import CloudFacts
from hcloud.model.clouds.gcp import GCP

CLOUDS: Mapping[str, CloudFacts] = MappingProxyType({facts.name: facts for facts in (AWS, GCP, AZURE)})
