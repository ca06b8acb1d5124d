"""Write artifacts to disk: replace the whole tree at once, and never overwrite files of a user without force."""

from sparkiac.write.comparison import Changes
from sparkiac.write.errors import Busy, Refused, Unsafe, WriteError
from sparkiac.write.held import scratch
from sparkiac.write.manifest import MANIFEST
from sparkiac.write.patch import diff, diff_of
from sparkiac.write.preview import survey
from sparkiac.write.single import replace
from sparkiac.write.transaction import commit

__all__ = [
    "MANIFEST",
    "Busy",
    "Changes",
    "Refused",
    "Unsafe",
    "WriteError",
    "commit",
    "diff",
    "diff_of",
    "replace",
    "scratch",
    "survey",
]
