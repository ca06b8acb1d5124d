"""Run a program of the role `programs` on a host that may not have it yet; the playbooks pass this text to python3 -c.

Standard input has four lines of JSON: the name of the program, its modules (name → source), its arguments, and its
standard input.
"""

import importlib.abc
import importlib.util
import json
import sys

NAME, MODULES, ARGUMENTS = (json.loads(sys.stdin.readline()) for _ in range(3))


class Bundle(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules from standard input."""

    def find_spec(self, name, path=None, target=None):  # noqa: ANN001, ANN201, ARG002 - defined by importlib
        """Return the spec of a module of the bundle."""
        return importlib.util.spec_from_loader(name, self) if name in MODULES else None

    def exec_module(self, module):  # noqa: ANN001, ANN201 - defined by importlib
        """Execute the source of a module."""
        exec(compile(MODULES[module.__name__], module.__name__, "exec"), module.__dict__)  # noqa: S102


sys.meta_path.insert(0, Bundle())
sys.exit(importlib.import_module(NAME).main(ARGUMENTS, sys.stdin.readline()))
