"""The plan: everything that will run, fully resolved and immutable. Later stages make no decisions."""

from sparkiac.model.facts import ModelFacts
from sparkiac.model.inventory import FabricLink
from sparkiac.plan.build import build
from sparkiac.plan.container import Container
from sparkiac.plan.image import Image, PlannedBuild
from sparkiac.plan.parts import BindMount, Export, FetchedFile, Health, Published, Secret
from sparkiac.plan.values import HostPlan, HubEndpoint, Plan, PlannedRetirement

__all__ = [
    "BindMount",
    "Container",
    "Export",
    "FabricLink",
    "FetchedFile",
    "Health",
    "HostPlan",
    "HubEndpoint",
    "Image",
    "ModelFacts",
    "Plan",
    "PlannedBuild",
    "PlannedRetirement",
    "Published",
    "Secret",
    "build",
]
