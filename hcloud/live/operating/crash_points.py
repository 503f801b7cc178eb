"""The moments of a pass at which a crash would be interesting; tests end the controller at each."""

from __future__ import annotations

NOTED = "operate.noted"
"""The journal has all that the pass brought, and nothing was done because of it."""
LAUNCH = "operate.launch"
BEGIN = "operate.begin"
END = "operate.end"
"""A machine is about to be ordered, an attempt to be begun, a machine to be ended."""

NAMES = frozenset({NOTED, LAUNCH, BEGIN, END})
