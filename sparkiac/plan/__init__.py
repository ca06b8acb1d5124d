"""Everything decided, as immutable data. Nothing is looked up or chosen after this stage."""

from sparkiac.plan.build import build
from sparkiac.plan.values import Container, Health, HostPlan, Image, Mount, Plan, Published, Secret

__all__ = ["Container", "Health", "HostPlan", "Image", "Mount", "Plan", "Published", "Secret", "build"]
