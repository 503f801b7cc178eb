"""The cloud in memory as Google's: machines by name, commitments for good."""

from __future__ import annotations

from contract.rig import Ability
from contract.rigs.memory import MemoryRig
from hcloud.model.catalog import PurchaseOption


class MemoryGcpRig(MemoryRig):
    name = "gcp"
    abilities = MemoryRig.abilities - {Ability.CANCEL}
    type_name = "n2-standard-2"
    zones = ("europe-west3-a", "europe-west3-b", "europe-west3-c")
    unknown_id = "hc-0000000000000000-0"
    sold = PurchaseOption.COMMITTED_USE
    by_key = PurchaseOption.COMMITTED_USE


RIG = MemoryGcpRig
