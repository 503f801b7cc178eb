"""A turning point is never told as a change of nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hcloud.model.plans.plan import Flip, Lever
from hcloud.views.explanations.plan import change


@pytest.mark.parametrize(
    ("at", "said"),
    [("1.053", "+5.3%"), ("1.0004", "+0.04%"), ("0.99998", "any fall"), ("1", "any rise")],
)
def test_a_change_is_told_with_as_many_digits_as_tell(at: str, said: str) -> None:
    assert change(Flip(Lever.DEMAND, Decimal(1), Decimal(at), "more")) == said
