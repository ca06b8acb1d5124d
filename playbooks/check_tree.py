"""Compare the generated tree with its manifest. Needs only Python 3.8 or newer.

check_tree.py DIRECTORY     exit status 1, with the reason on stderr, if a file is missing or edited
"""

import hashlib
import json
import stat
import sys
from pathlib import Path

MANIFEST = ".sparkiac-manifest.json"
SHOWN = 10
HINT = 'Nothing was changed. Run "sparkiac generate --check" to compare, or "sparkiac generate --force" to restore.'


def difference(path: Path, wanted: dict) -> str:
    """Return how a file differs; like Git, only the executable bit of the mode counts. Empty if it does not differ."""
    try:
        content, mode = path.read_bytes(), path.lstat().st_mode
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISREG(mode):
        return "not a regular file"
    if hashlib.sha256(content).hexdigest() != wanted["sha256"]:
        return "edited"
    executable = bool(mode & stat.S_IXUSR)
    return "" if executable == bool(int(wanted["mode"], 8) & stat.S_IXUSR) else "its mode was changed"


def differences(root: Path) -> list:
    """Return one line for each file that differs from the manifest."""
    try:
        files = json.loads((root / MANIFEST).read_text(encoding="utf-8"))["files"]
        found = [(path, difference(root / path, files[path])) for path in sorted(files)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"{MANIFEST}: cannot be read: {error}"]
    return [f"{path}: {what}" for path, what in found if what]


def main(root: Path) -> int:
    """Print the differences and return the exit status."""
    lines = differences(root)
    if not lines:
        return 0
    more = [f"and {len(lines) - SHOWN} more files"] if len(lines) > SHOWN else []
    shown = "\n".join([*lines[:SHOWN], *more])
    sys.stderr.write(f"The generated tree does not match its manifest:\n{shown}\n{HINT}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
