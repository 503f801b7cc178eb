"""The cloud in memory as Azure: machines by name, reservations that can be given back."""

from __future__ import annotations

from contract.rigs.memory import MemoryRig
from hcloud.model.catalog import PurchaseOption


class MemoryAzureRig(MemoryRig):
    name = "azure"
    type_name = "Standard_D2s_v5"
    zones = ("1", "2", "3")
    unknown_id = "hc-0000000000000000-0"
    sold = PurchaseOption.RESERVATION
    by_key = PurchaseOption.RESERVATION


RIG = MemoryAzureRig
