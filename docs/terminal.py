"""Draws docs/images/terminal.svg: what `sparkiac` prints in a terminal. Run it after a change of output."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
COLUMNS = 110
COMMANDS = (
    "sparkiac generate inventories/lab.yaml | tail -n 1",
    "sparkiac plan inventories/solo.yaml",
    "sparkiac check bad.yaml",
)
BAD = """\
name: lab
defaults: {model_store: /srv/models, bind: loopback}
hosts:
  spark-01: {address: 192.168.1.11, platfrom: dgx-spark}
deployments:
  chat: {recipe: base/single-spark, model: nvidia/some-model, on: spark-1, port: 80000}
"""


def shown(command: str, folder: Path) -> str:
    """Run a command in a pseudo-terminal, so that it prints its colours, and give what it printed."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    inside = f"stty cols {COLUMNS}; {command}"
    argv = ["script", "--quiet", "--return", "--command", inside, "/dev/null"]
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return re.sub(r"\r", "", done.stdout).rstrip("\n")


def main() -> None:
    """Run the commands in an empty copy of the inventories and save the picture."""
    console = Console(record=True, width=COLUMNS, file=sys.stderr, force_terminal=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "inventories").symlink_to(ROOT / "inventories")
        (folder / "bad.yaml").write_text(BAD)
        for command in COMMANDS:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(shown(command, folder)))
            console.print()
    svg = console.export_svg(title="sparkiac", unique_id="sparkiac")
    # The picture loads nothing from elsewhere: the viewer's own monospace font is good enough.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    (ROOT / "docs/images/terminal.svg").write_text(svg)


if __name__ == "__main__":
    main()
