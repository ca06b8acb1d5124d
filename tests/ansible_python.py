"""A Python that runs Ansible's modules on hosts of a bed, and keeps what it compiles.

Ansible sends each module as an archive of its sources, so that Python compiles about fifty files in each of some
thousand runs: a third of the time of a task.
"""

import hashlib
import marshal
import os
import runpy
import sys
import zipimport
from pathlib import Path


def program(python: str) -> str:
    """Return the text of this file as a program of a Python, which keeps its files in its own folder."""
    return f"#!{python}\n{Path(__file__).read_text()}"


def kept(path: str, source: bytes) -> object:
    """Return the code of a file in an archive: that of an earlier run, if there is one."""
    at = Path(__file__).parent / hashlib.sha256(source).hexdigest()
    try:
        return marshal.loads(at.read_bytes())  # noqa: S302 - written below
    except FileNotFoundError:
        code = compiled(path, source)
        new = at.with_suffix(f".{os.getpid()}")
        new.write_bytes(marshal.dumps(code))
        new.replace(at)
        return code


if __name__ == "__main__":
    compiled, zipimport._compile_source = zipimport._compile_source, kept  # noqa: SLF001
    sys.argv[:] = sys.argv[1:] or [""]
    if sys.argv[0]:
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        exec(sys.stdin.read(), {"__name__": "__main__"})  # noqa: S102 - the module that Ansible sent
