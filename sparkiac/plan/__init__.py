"""Everything decided, as immutable data. Nothing is looked up or chosen after this stage."""

from sparkiac.model.facts import ModelFacts
from sparkiac.plan.build import build
from sparkiac.plan.image import Image
from sparkiac.plan.parts import Export, ExtraFile, Health, Mount, Published, Secret
from sparkiac.plan.values import Build, Container, HostPlan, Hub, Plan

__all__ = [
    "Build",
    "Container",
    "Export",
    "ExtraFile",
    "Health",
    "HostPlan",
    "Hub",
    "Image",
    "ModelFacts",
    "Mount",
    "Plan",
    "Published",
    "Secret",
    "build",
]
