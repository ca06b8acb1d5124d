"""Write the extractor as one program, to run in an image without this folder.

`bundle.py | docker run --rm -i --entrypoint python3 IMAGE - --installed > interface.json`
"""

from __future__ import annotations

import sys
from pathlib import Path

MODULES = ("standins", "options", "registries", "extract")
"""In the order in which they import each other."""
START = """\
import sys
import types

for name, source in MODULES.items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
sys.modules["extract"].main()
"""


def bundle() -> str:
    """Return one program that contains the modules as text and runs them."""
    folder = Path(__file__).parent
    modules = {name: (folder / f"{name}.py").read_text() for name in MODULES}
    return f"MODULES = {modules!r}\n{START}"


if __name__ == "__main__":
    sys.stdout.write(bundle())
