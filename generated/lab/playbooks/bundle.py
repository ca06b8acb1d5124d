"""Run a program of the role `programs` on a host that may not have it yet; the playbooks pass this text to python3 -c.

Standard input has three lines of JSON: the module of the program, all files that it imports (path → source), and its
arguments. What follows, which may be binary, is its own standard input.
"""

import importlib.abc
import importlib.util
import json
import sys

if sys.version_info < (3, 10):  # noqa: UP036 - a host may have an older one, which cannot even read the modules
    sys.exit(f"Python 3.10 or newer is needed, this is {sys.version.split()[0]}")
NAME, MODULES, ARGUMENTS = (json.loads(sys.stdin.buffer.readline()) for _ in range(3))


class Bundle(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from the files of standard input."""

    def find_spec(self, name, path=None, target=None):  # noqa: ANN001, ANN201, ARG002 - defined by importlib
        """Return the spec of a module or package of the bundle."""
        base = name.replace(".", "/")
        for file, is_package in ((f"{base}.py", False), (f"{base}/__init__.py", True)):
            if file in MODULES:
                return importlib.util.spec_from_loader(name, self, origin=file, is_package=is_package)
        return None

    def exec_module(self, module):  # noqa: ANN001, ANN201 - defined by importlib
        """Execute the source of a module."""
        path = module.__spec__.origin
        exec(compile(MODULES[path], path, "exec"), module.__dict__)  # noqa: S102


sys.dont_write_bytecode = True  # a module that is imported from the host leaves no file there
sys.meta_path.insert(0, Bundle())
sys.exit(importlib.import_module(NAME).main(ARGUMENTS))
