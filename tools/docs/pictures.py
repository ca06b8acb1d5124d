"""Draws the pictures of docs/images: terminals, and the page of the plan in two widths and two themes.

Run it after a change of output. It needs `script` and the browser Chromium. The hosts of status.svg are stand-ins, with
invented figures.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the stand-ins of the tests
from tests.fleet import hosts  # noqa: E402

COLUMNS = 110
COMMANDS = (
    "sparkiac generate inventories/lab.yaml | tail -n 1",
    "sparkiac plan inventories/solo.yaml",
    "sparkiac check bad.yaml",
)
WIDTHS = {"wide": (1280, 1120), "narrow": (390, 1500)}
"""Name of a picture → its width and height in pixels."""
THEMES = {"dark": 0, "light": 1}
"""Name of a theme → its number in Chromium."""
BAD = """\
name: lab
defaults: {model_store: /srv/models, bind: loopback}
hosts:
  spark-01: {address: 192.168.1.11, platfrom: dgx-spark}
deployments:
  chat: {recipe: base/single-spark, model: nvidia/some-model, hosts: spark-1, port: 80000}
"""


def shown(command: str, folder: Path) -> str:
    """Run a command in a pseudo-terminal, so that it prints colours, and return its output."""
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "STUB": str(folder)}
    inside = f"stty cols {COLUMNS}; {command}"
    argv = ["script", "--quiet", "--return", "--command", inside, "/dev/null"]
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return re.sub(r"\r", "", done.stdout).rstrip("\n")


def draw(commands: tuple[str, ...], folder: Path, name: str) -> None:
    """Run commands in a folder and save the picture."""
    console = Console(record=True, width=COLUMNS, file=sys.stderr, force_terminal=True)
    for command in commands:
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(shown(command, folder)))
        console.print()
    svg = console.export_svg(title="sparkiac", unique_id="sparkiac")
    # The picture loads nothing from elsewhere: the viewer's own monospace font is good enough.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    (ROOT / "docs/images" / name).write_text(svg)


def stand_ins(folder: Path) -> None:
    """Write a stand-in for ssh, and what the two hosts of the lab answer: one is healthy, the other is not."""
    generated = folder / "generated/lab/host_vars"
    runs = {
        path.parent.name: path.read_text().partition('generation: "')[2][:16] for path in generated.glob("*/hashes.yml")
    }
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(hosts.SSH)
    (folder / "bin/ssh").chmod(0o755)
    crash = {"ago_s": 12, "cause": "crash", "detail": "the container exited, status 1, out of memory: false"}
    failed = {"active": "activating", "sub": "auto-restart", "restart": crash, "served": None, "readings": None}
    edited = {"files": [{"path": "etc/sparkiac/gemma4/compose.yaml", "kind": "edited"}]}
    found = {
        "spark-01": hosts.host(hosts.unit("qwen36", served=["nvidia/Qwen3.6-35B-A3B-NVFP4"])),
        "spark-02": hosts.host(hosts.unit("gemma4", **failed), drift=edited),
    }
    for number, (name, facts) in enumerate(found.items(), 1):
        facts["generation"] |= {"current": runs[name], "committed": runs[name]}
        (folder / f"192.168.1.1{number}").write_text(json.dumps(facts) + "\n")


def photograph(folder: Path) -> None:
    """Save the page of the plan as Chromium shows it."""
    program = Path(sys.executable).with_name("sparkiac")
    command = [program, "plan", "inventories/lab.yaml", "--format", "html"]
    page = folder / "plan.html"
    page.write_bytes(subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout)
    for name, (width, height) in WIDTHS.items():
        for theme, number in THEMES.items():
            target = ROOT / f"docs/images/plan-{name}-{theme}.png"
            options = (
                f"--window-size={width},{height}",
                f"--blink-settings=preferredColorScheme={number}",
                f"--screenshot={target}",
            )
            browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            arguments = [*browser, "--virtual-time-budget=2000", *options, page.as_uri()]
            subprocess.run(arguments, check=True, capture_output=True)


def main() -> None:
    """Run the commands in an empty copy of the inventories and save the pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "inventories").symlink_to(ROOT / "inventories")
        (folder / "bad.yaml").write_text(BAD)
        draw(COMMANDS, folder, "terminal.svg")
        stand_ins(folder)
        draw(("sparkiac status inventories/lab.yaml",), folder, "status.svg")
        photograph(folder)


if __name__ == "__main__":
    main()
