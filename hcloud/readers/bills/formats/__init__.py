"""The formats of bills that are known."""

from __future__ import annotations

from hcloud.readers.bills.formats.azure import AZURE
from hcloud.readers.bills.formats.cur import CUR
from hcloud.readers.bills.formats.focus import FOCUS
from hcloud.readers.bills.formats.google import GOOGLE
from hcloud.readers.bills.formats.google_focus import FOCUS_WITH_CREDITS, GOOGLE_FOCUS
from hcloud.readers.bills.lines import BillFormat

FORMATS: tuple[BillFormat, ...] = (CUR, GOOGLE_FOCUS, FOCUS_WITH_CREDITS, FOCUS, AZURE, GOOGLE)
