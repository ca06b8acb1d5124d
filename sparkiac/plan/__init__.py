"""Everything decided, as immutable data. Nothing is looked up or chosen after this stage."""

from sparkiac.plan.build import build
from sparkiac.plan.image import Image
from sparkiac.plan.values import (
    Build,
    Container,
    Export,
    ExtraFile,
    Health,
    HostPlan,
    Mount,
    Plan,
    Published,
    Secret,
)

__all__ = [
    "Build",
    "Container",
    "Export",
    "ExtraFile",
    "Health",
    "HostPlan",
    "Image",
    "Mount",
    "Plan",
    "Published",
    "Secret",
    "build",
]
