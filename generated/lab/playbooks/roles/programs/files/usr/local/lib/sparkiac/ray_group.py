#!/usr/bin/env python3
"""Run the program that has the name of this file; its modules are in the folder `host` beside it."""

import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # keep the directory free of files that were not deployed

if sys.version_info < (3, 10):  # noqa: UP036 - a host may have an older one, which cannot even read the modules
    sys.exit(f"Python 3.10 or newer is needed, this is {sys.version.split()[0]}")

from host import PROGRAMS  # noqa: E402

sys.exit(importlib.import_module(f"host.{PROGRAMS[Path(__file__).name]}").main(sys.argv[1:]))
