"""Write docs/schemas from the code: ``python docs/make_schemas.py``; tests hold the files against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hcloud.model.json_text import DIALECT
from hcloud.readers.configuration.config import config_schema
from hcloud.readers.harvest.dags import dags_schema
from hcloud.readers.rules import rules_schema
from hcloud.store.diff_codec import difference_schema, verdict_schema
from hcloud.store.exchange import TOLD
from hcloud.store.journals.line_schemas import advice_schema, decision_schema, event_schema, order_schema, told_schema
from hcloud.store.plan_file import changes_schema, explanation_schema, plan_schema
from hcloud.store.purchase_file import purchase_schema
from hcloud.store.states.codec import state_schema
from hcloud.views.commitments import documents as commitments
from hcloud.views.deciding import documents as deciding
from hcloud.views.document import Document, RefusalDocument, schema_of
from hcloud.views.explanations import documents as explanations
from hcloud.views.harvesting import documents as harvesting
from hcloud.views.live import documents as live
from hcloud.views.measuring import documents as measuring
from hcloud.views.prices import documents as prices
from hcloud.views.reports import documents as reports
from hcloud.views.studies import documents as studies
from hcloud.views.studies import placement_documents
from hcloud.views.tools import documents as tools
from hcloud.views.workloads import documents as workloads

SCHEMAS = Path(__file__).resolve().parent / "schemas"
PRINTED: Mapping[str, tuple[type[Document], ...]] = {
    "accuracy": (reports.AccuracyDocument,),
    "answer": (explanations.AnswerDocument,),
    "bill": (workloads.BillDocument,),
    "bill-plan": (deciding.BillPlanDocument,),
    "checks": (tools.ChecksDocument,),
    "classification": (measuring.ClassificationDocument,),
    "drift": (live.DriftDocument,),
    "error": (RefusalDocument,),
    "harvest-audit": (harvesting.HarvestAuditDocument,),
    "harvest-replicas": (harvesting.HarvestReplicasDocument,),
    "harvest-plan": (harvesting.HarvestPlanDocument,),
    "harvest-simulate": (harvesting.HarvestSimulationDocument,),
    "harvest-types": (harvesting.HarvestTypesDocument,),
    "holdings": (commitments.HoldingsDocument,),
    "offers": (prices.OffersDocument,),
    "operating": (live.OperatingDocument,),
    "orphans": (live.OrphansDocument,),
    "outcome": (live.OutcomeDocument,),
    "placement-size": (placement_documents.PlacementSizeDocument,),
    "price-changes": (prices.PriceChangesDocument,),
    "price-check": (prices.PriceCheckDocument,),
    "price-intake": (prices.IntakeDocument,),
    "profile": (measuring.ProfileDocument,),
    "profile-comparison": (measuring.ProfileComparisonDocument,),
    "profiles": (measuring.ProfilesDocument,),
    "purchased": (commitments.PurchasedDocument,),
    "quality": (reports.QualityDocument,),
    "recommendation": (commitments.RecommendationDocument,),
    "report": (reports.CostDocument, reports.SavingsDocument, reports.CommitmentsDocument),
    "simulation": (studies.SimulationDocument,),
    "size": (deciding.SizeDocument,),
    "state-screen": (live.RememberedDocument, live.UnlockedDocument),
    "status": (live.StatusDocument,),
    "story": (live.StoryDocument, live.HarvestStoryDocument),
    "strategies": (studies.StrategiesDocument,),
    "strategy": (studies.StrategyDocument,),
    "sweep": (studies.SweepDocument,),
    "workload": (workloads.WorkloadDocument,),
    "workload-verdicts": (workloads.VerdictsDocument,),
}
"""What verbs print that is kept in no file."""


def schemas() -> Mapping[str, Mapping[str, object]]:
    """Every published schema by its name."""
    return {
        **{name: schema_of(*kinds) for name, kinds in PRINTED.items()},
        "advice": advice_schema(),
        "changes": changes_schema(),
        "dags": dags_schema(),
        "decision": decision_schema(),
        "diff": difference_schema(),
        "event": event_schema(),
        "explanation": explanation_schema(),
        "hcloud": config_schema(),
        "order": order_schema(),
        "plan": plan_schema(),
        "policy-check": verdict_schema(),
        "purchase": purchase_schema(),
        "rules": {"$schema": DIALECT, **rules_schema(), "title": "rules.yaml"},
        "state": state_schema(),
        "told": told_schema(TOLD),
    }


def text_of(schema: Mapping[str, object]) -> str:
    """What the file of a schema holds."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (SCHEMAS / f"{name}.schema.json").write_text(text_of(schema), encoding="utf-8", newline="\n")
