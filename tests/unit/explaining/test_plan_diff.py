"""The difference between two plans: what it names, and to what it puts dollars down."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from plan_figures import committed, plan, predicted, rented

from hcloud.model.catalog import PurchaseOption
from hcloud.model.plans.difference import Mark, PlanDifference
from hcloud.model.plans.figures import PlanFigures, PlanInput, PlanPart
from hcloud.planning.explanations.plan_diff import EffectsContext, OfferPair, difference_of, effects_of
from hcloud.views.deciding.diff import effects as table_of_effects


def effects(found: PlanDifference) -> tuple[str, str, str]:
    parts = found.effects
    return tuple(f"{e:.2f}" for e in (parts.prices, parts.demand, parts.decisions))  # type: ignore[return-value]


def test_a_dearer_price_alone_is_an_effect_of_prices() -> None:
    found = difference_of(plan(rented("10", "1.00")), plan(rented("10", "1.10")))
    assert effects(found) == ("1.00", "0.00", "0.00")
    (moved,) = found.prices
    assert (moved.price.before, moved.price.after) == (Decimal("1.000000"), Decimal("1.100000"))


def test_more_demand_at_the_same_shares_is_an_effect_of_demand() -> None:
    before = plan(rented("4", "1.00"), committed(6, "0.50"), cores="100")
    after = plan(rented("6", "1.00"), committed(9, "0.50"), cores="150")
    assert effects(difference_of(before, after)) == ("0.00", "3.50", "0.00")


def test_another_mix_for_the_same_demand_is_an_effect_of_decisions() -> None:
    found = difference_of(plan(rented("10", "1.00")), plan(rented("4", "1.00"), committed(6, "0.50")))
    assert effects(found) == ("0.00", "0.00", "-3.00")
    assert {p.address.rsplit("/", 1)[-1]: p.mark for p in found.parts} == {
        "on-demand": Mark.CHANGE,
        "reserved-instance-1y-all-upfront": Mark.COMMIT,
    }
    assert found.upfront.difference == Decimal("0.50") * 6 * 8760
    assert found.longest_term_years.after == 1


def test_all_three_at_once_add_up() -> None:
    before = plan(rented("4", "1.00"), committed(6, "0.50"), cores="100")
    after = plan(rented("9", "1.20"), committed(5, "0.45"), cores="130")
    found = difference_of(before, after)
    assert found.effects.total == found.hourly.difference
    assert found.effects.prices > 0
    assert found.effects.demand > 0
    assert sum((p.effects.prices for p in found.parts), Decimal(0)) == found.effects.prices


def test_the_table_of_effects_adds_up_where_a_commitment_stays_as_demand_grows() -> None:
    before = plan(rented("4", "1.00"), committed(6, "0.50"), cores="100")
    after = plan(rented("9", "1.00"), committed(6, "0.50"), cores="130")
    found = difference_of(before, after)
    table, whole = table_of_effects(found), found.effects
    for column, effect in enumerate((whole.prices, whole.demand, whole.decisions, whole.total), 1):
        assert abs(sum(Decimal(row[column]) for row in table.rows) - effect) < Decimal("0.0002")


def test_what_rounding_makes_of_a_price_is_no_move_of_it() -> None:
    one, other = rented("7.416667", "0"), rented("3.1", "0")
    before = plan(replace(one, hourly=Decimal("5.696000")))
    after = plan(replace(other, hourly=Decimal("2.380800")))
    found = difference_of(before, after)
    assert found.prices == ()
    assert found.effects.prices == 0


def test_over_another_horizon_commitments_are_not_compared_as_prices() -> None:
    before, after = plan(committed(5, "0.50", years=3)), plan(committed(5, "1.50", years=3), horizon_hours=3 * 8760)
    found = difference_of(before, after)
    assert found.effects.prices == 0
    assert any("different horizons" in note for note in found.notes)


def test_a_first_plan_is_all_new() -> None:
    found = difference_of(None, plan(rented("2", "1.00"), committed(1, "0.5")))
    assert [p.mark for p in found.parts] == [Mark.ADD, Mark.COMMIT]
    assert found.effects.decisions == found.hourly.after == found.hourly.difference
    assert not found.is_empty


def test_what_is_gone_is_marked_and_later_purchases_stand_apart() -> None:
    before = plan(committed(2, "0.5"), committed(1, "0.5", starts_hour=48))
    found = difference_of(before, plan(committed(2, "0.5")))
    (gone,) = found.parts
    assert (gone.mark, gone.starts_hour) == (Mark.REMOVE, 48)


def test_other_currencies_are_refused() -> None:
    with pytest.raises(ValueError, match="USD, the other in EUR"):
        difference_of(plan(), plan(currency="EUR"))


def test_other_inputs_are_said_and_settings_named() -> None:
    def told(digest: str, horizon: str) -> PlanFigures:
        inputs = (PlanInput("made from", "a trace"), PlanInput("workload digest", digest))
        return plan(rented("1", "1"), inputs=inputs, settings=(PlanInput("planning.horizon", horizon),))

    found = difference_of(told("a" * 12, "1y"), told("b" * 12, "3y"))
    assert "different traces" in found.notes[0]
    assert [(t.key, t.before, t.after) for t in found.settings] == [("planning.horizon", "1y", "3y")]
    assert not found.is_empty


def test_new_and_gone_warnings_are_told_and_are_no_difference() -> None:
    found = difference_of(plan(warnings=("old", "kept")), plan(warnings=("kept", "new", "kept")))
    assert sorted(found.new_warnings) == ["kept", "new"]
    assert found.gone_warnings == ("old",)
    assert found.is_empty


def test_digests_that_change_with_time_are_told_and_are_no_difference() -> None:
    before, after = (plan(inputs=(PlanInput("settings digest", d), PlanInput("prices digest", d))) for d in ("a", "b"))
    found = difference_of(before, after)
    assert found.is_empty
    assert len(found.inputs) == 2


def test_predicted_quality_before_and_after() -> None:
    found = difference_of(plan(quality=predicted(0.95)), plan(quality=predicted(0.91)))
    (moved,) = found.quality
    assert moved.difference == pytest.approx(-0.04)
    gone = difference_of(plan(quality=predicted(0.95)), plan())
    assert [(q.name, q.after) for q in gone.quality] == [("jobs that keep 95% of their performance", None)]


def test_dollars_are_compared_as_simulated_only_where_both_plans_are() -> None:
    both = difference_of(plan(quality=predicted(0.9)), plan(quality=predicted(0.9)))
    assert both.simulated_monthly is not None
    assert both.simulated_monthly.after == 7300
    assert difference_of(plan(), plan(quality=predicted(0.9))).simulated_monthly is None
    first = difference_of(None, plan(quality=predicted(0.9))).simulated_monthly
    assert first is not None
    assert (str(first.before), str(first.after)) == ("0", "7300")


def test_licences_of_what_runs_on_a_commitment_are_no_price_of_it() -> None:
    """Where more ran on the same reservations, prices were told to have risen."""
    one = PlanPart("a", "azure", "r", "D4s", PurchaseOption.RESERVATION, Decimal(4), 0, Decimal(2))
    parts = [replace(one, hourly=2 + beside, licences=beside) for beside in (Decimal(1), Decimal(2))]
    found = effects_of(OfferPair(*parts), EffectsContext(Decimal(3), Decimal(3), same_horizon=True))
    assert (found.prices, found.demand, found.decisions) == (Decimal(0), Decimal(0), Decimal(1))


def test_effects_are_rounded_once_at_their_end() -> None:
    """Prices that differ by less than a millionth are worth a cent of many machines."""
    parts = [
        PlanPart("a", "aws", "r", "m5.large", PurchaseOption.ON_DEMAND, Decimal(50_000), 1, Decimal(dollars))
        for dollars in ("5000", "5000.02")
    ]
    found = effects_of(OfferPair(*parts), EffectsContext(Decimal(3), Decimal(3), same_horizon=True))
    assert (found.prices, found.demand, found.decisions) == (Decimal("0.02"), Decimal(0), Decimal(0))
