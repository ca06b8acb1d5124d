"""Write artifacts to disk: replace the whole tree at once, and never overwrite a user's files without force."""

from sparkiac.write.comparison import Changes
from sparkiac.write.manifest import MANIFEST
from sparkiac.write.manifest import files as written_files
from sparkiac.write.preview import diff, diff_of, survey
from sparkiac.write.single import replace, scratch
from sparkiac.write.staging import Busy, UnsafeTarget, WouldOverwrite, WriteError
from sparkiac.write.transaction import commit

__all__ = [
    "MANIFEST",
    "Busy",
    "Changes",
    "UnsafeTarget",
    "WouldOverwrite",
    "WriteError",
    "commit",
    "diff",
    "diff_of",
    "replace",
    "scratch",
    "survey",
    "written_files",
]
