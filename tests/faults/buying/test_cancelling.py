"""Giving commitments back: only where the terms allow it and a person agrees, noted before and after."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from purchasing import CrashAt, Died, Shop, go_on, wanted

from hcloud.errors import ConfirmationError, DeniedByGuardError, DeniedError, PartialError, UsageError
from hcloud.live.buying.cancelling import Cancelling, cancel
from hcloud.model.holdings.live import Commitment
from hcloud.model.holdings.purchase import PurchaseOutcome
from hcloud.planning.purchases.leaving import WayOut
from hcloud.readers.exit_terms import exit_terms


def give_back(shop: Shop, commitment: str, crash: object = go_on, *, agreed: bool = True) -> Commitment:
    """Cancel as a new process would."""

    def agree(found: Commitment, way: WayOut) -> None:
        if not agreed:
            raise ConfirmationError("no")

    terms = exit_terms()
    asked = Cancelling(commitment, lambda c: terms.get((shop.cloud.name, c.option)), agree)
    return cancel(asked, shop.ledger, shop.ground(crash))  # type: ignore[arg-type]


def bought(kind: str, tmp_path: Path) -> tuple[Shop, str]:
    shop = Shop.open(kind, tmp_path)
    return shop, shop.apply(shop.plan())[0].id


@pytest.mark.parametrize("kind", ["aws-plan", "azure"])
def test_what_may_go_back_goes_back_and_binds_no_more(kind: str, tmp_path: Path) -> None:
    shop, mine = bought(kind, tmp_path)
    assert shop.history.committed(shop.now()) > 0
    give_back(shop, mine)
    assert shop.cloud.ledger.purchases[mine].cancelled_at is not None
    assert shop.history.committed(shop.now()) == 0
    with pytest.raises(DeniedByGuardError, match="ended already"):
        give_back(shop, mine)


@pytest.mark.parametrize("kind", ["aws", "gcp"])
def test_what_may_not_go_back_is_refused_by_its_terms_without_asking(kind: str, tmp_path: Path) -> None:
    shop, mine = bought(kind, tmp_path)
    with pytest.raises(DeniedByGuardError, match="cannot be cancelled"):
        give_back(shop, mine)
    assert shop.cloud.ledger.calls(["cancel"]) == 0


def test_nobody_agrees_and_nothing_is_asked(tmp_path: Path) -> None:
    shop, mine = bought("azure", tmp_path)
    with pytest.raises(ConfirmationError):
        give_back(shop, mine, agreed=False)
    with pytest.raises(UsageError, match="no commitment"):
        give_back(shop, "another")
    assert shop.cloud.ledger.calls(["cancel"]) == 0


@pytest.mark.parametrize("answer", ["dropped-after", "dropped-before"])
def test_a_lost_answer_is_looked_up(answer: str, tmp_path: Path) -> None:
    shop, mine = bought("azure", tmp_path)
    shop.faults({"on": "cancel", "answer": answer, "first": 1})
    if answer == "dropped-after":
        give_back(shop, mine)
    else:
        with pytest.raises(PartialError, match="unknown"):
            give_back(shop, mine)
        assert shop.history.cancellations[0].outcome is PurchaseOutcome.UNKNOWN
        give_back(shop, mine)
    assert shop.cloud.ledger.purchases[mine].cancelled_at is not None
    assert shop.history.committed(shop.now()) == 0


def test_a_refusal_is_noted(tmp_path: Path) -> None:
    shop, mine = bought("azure", tmp_path)
    shop.faults({"on": "cancel", "answer": "denied"})
    with pytest.raises(DeniedError):
        give_back(shop, mine)
    assert shop.history.cancellations[0].outcome is PurchaseOutcome.NOT_CANCELLED
    assert shop.history.committed(shop.now()) > 0


def test_a_crash_at_each_boundary_leaves_something_that_can_be_done_again(tmp_path: Path) -> None:
    met = set()
    for number in (1, 2, 3):
        (tmp_path / str(number)).mkdir()
        shop, mine = bought("azure", tmp_path / str(number))
        crash = CrashAt(number)
        with pytest.raises(Died):
            give_back(shop, mine, crash)
        met |= set(crash.met)
        give_back(shop, mine)
        assert shop.cloud.ledger.purchases[mine].cancelled_at is not None
        assert shop.history.committed(shop.now()) == 0
    assert met == {"commit.cancel.agreed", "commit.cancel.intended", "commit.cancel.answered"}


def test_a_queued_purchase_begins_later_and_can_be_deleted_until_then(tmp_path: Path) -> None:
    shop = Shop.open("aws", tmp_path)
    starts = shop.now() + timedelta(days=30)
    mine = shop.apply(shop.plan(replace(wanted("aws"), starts=starts)))[0].id
    (held,) = shop.cloud.commitments()
    assert (held.state, held.starts, shop.history.purchases[0].ends) == ("queued", starts, held.ends)
    give_back(shop, mine)
    assert shop.history.committed(shop.now()) == 0
