"""Two hosts that behave like DGX Sparks, a registry and a control station, in namespaces of their own.

`Bed` is what tests use; `python -m tests.e2e.bed` is for people.
"""

from tests.e2e.bed.bed import Bed, requirements
from tests.e2e.bed.network import Host
from tests.e2e.bed.shell import BedError

__all__ = ["Bed", "BedError", "Host", "requirements"]
