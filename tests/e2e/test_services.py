"""Model, agent and front end on one real host: they start in order and reach each other.

The front end is the engine's stand-in under another name: it answers /health and can be asked what it was given. The
agent is a small program in its user's home.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.e2e.lab import KEY, Lab

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

HOST = "spark-01"
UNITS = ("sparkiac-qwen36", "sparkiac-agent", "sparkiac-chat")
"""In the order in which they must start."""
AGENT_KEY = 'canary-agent-9c41 {{ 1 + 1 }}{% raw %}{# $HOME ${HOME} %h "it\'s" \\n'
"""What Ansible, systemd, Compose and a shell could read as something else."""
SERVICES = """
services:
  agent:
    kind: hermes-agent
    hosts: spark-01
    uses: qwen36
    api_key: {secret: hermes_key}
    program: /home/spark/.local/bin/hermes
    user: spark
  chat:
    kind: open-webui
    image: vllm/vllm-openai:gemma4-0505-arm64-cu130
    hosts: spark-01
    port: 3000
    uses: [qwen36, agent]
    command: [example/front, --host=0.0.0.0, --port=8080]
"""
AGENT = """\
#!/usr/bin/env python3
# Stand-in for Hermes Agent: its API, as far as it is asked here.
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
assert sys.argv[1:] == ["gateway", "run"] and os.environ["API_SERVER_ENABLED"] == "true"
open(os.environ["HERMES_HOME"] + "/config.yaml", "a").close()
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Bearer " + os.environ["API_SERVER_KEY"]
        body = {"data": [{"id": "hermes-agent"}], "home": os.environ["HOME"], "user": os.getuid()}
        self.send_response(200 if known or self.path == "/health" else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
HTTPServer((os.environ["API_SERVER_HOST"], int(os.environ["API_SERVER_PORT"])), Handler).serve_forever()
"""
ASK = """\
import glob, json, urllib.request
found = [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/environ")]
found = [dict(line.decode().split("=", 1) for line in text.split(bytes(1)) if line) for text in found]
server = next(each for each in found if "OPENAI_API_KEYS" in each)
urls, keys = server["OPENAI_API_BASE_URLS"].split(";"), server["OPENAI_API_KEYS"].split(";")
for url, key in zip(urls, keys, strict=True):
    request = urllib.request.Request(url + "/models", headers={"Authorization": "Bearer " + key})
    print(url, json.load(urllib.request.urlopen(request, timeout=10))["data"][0]["id"])
"""
REACH = """\
import socket
for host, port in (("qwen36", 8000), ("10.77.0.11", 8001)):
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        print(host + ":", "no")
    else:
        print(host + ":", "yes")
"""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab with its services, generated, and with the agent installed by its user."""
    folder: Path = tmp_path_factory.mktemp("services")
    found = Lab(bed, folder)
    found.write()
    found.inventory.write_text(found.inventory.read_text() + SERVICES)
    secrets = {"sparkiac_secrets": {"vllm_api_key": KEY, "hermes_key": AGENT_KEY}}
    (folder / "secrets.json").write_text(json.dumps(secrets))
    found.generate()
    found.stage()
    install = f"mkdir -p ~/.local/bin && cat >~/.local/bin/hermes <<'END'\n{AGENT}END\nchmod +x ~/.local/bin/hermes"
    bed.ssh(HOST, install)
    return found


def inside(lab: Lab, code: str) -> str:
    """Run Python in the front end's container; the code is passed as one word through two shells."""
    words = shlex.join(["docker", "exec", "sparkiac-chat-server-1", "python3", "-c", code])
    return lab.bed.ssh(HOST, words, root=True).stdout


def test_the_chain_comes_up_in_order(lab: Lab) -> None:
    recap = lab.apply()
    assert recap.code == 0, recap.output
    show = "systemctl show -p ActiveState -p ActiveEnterTimestampMonotonic --value "
    states = [lab.bed.ssh(HOST, show + unit).stdout.split() for unit in UNITS]
    assert [state for *_, state in (sorted(pair) for pair in states)] == ["active"] * 3
    times = [int(next(word for word in pair if word.isdigit())) for pair in states]
    assert times == sorted(times)
    assert AGENT_KEY not in recap.output


def test_the_front_end_reaches_the_model_by_name_and_the_agent_by_its_address(lab: Lab) -> None:
    assert inside(lab, ASK).splitlines() == [
        "http://qwen36:8000/v1 RedHatAI/Qwen3.6-35B-A3B-NVFP4",
        "http://10.77.0.11:8642/v1 hermes-agent",
    ]


@pytest.mark.parametrize("filtered", ["0", "1"])
def test_the_front_end_does_not_reach_a_model_that_is_closed_in_their_docker_network(lab: Lab, filtered: str) -> None:
    """By its name, through the bridge, whether bridged packets pass the rules for IP or not."""
    lab.bed.ssh(HOST, f"echo {filtered} >/proc/sys/net/bridge/bridge-nf-call-iptables", root=True)
    lab.bed.ssh(HOST, "/usr/local/lib/sparkiac/switch drain sparkiac-qwen36", root=True)
    reached = inside(lab, REACH).split()
    lab.bed.ssh(HOST, "/usr/local/lib/sparkiac/switch undrain sparkiac-qwen36", root=True)
    assert reached == ["qwen36:", "no", "10.77.0.11:", "no"]
    assert inside(lab, REACH).split() == ["qwen36:", "yes", "10.77.0.11:", "yes"]


def test_no_file_argument_or_unit_contains_a_key(lab: Lab) -> None:
    for key in (KEY, AGENT_KEY):
        # The brackets keep the command from finding its own pattern.
        begin = f"[{key[0]}]{key[1:17]}"
        seen = lab.bed.ssh(
            HOST,
            f"grep -rl {begin} /etc/sparkiac --exclude-dir=secrets /etc/systemd /var/lib/sparkiac; "
            f"systemctl show {' '.join(UNITS)} | grep -c {begin}; "
            f"docker inspect sparkiac-chat-server-1 | grep -c {begin}; "
            f"cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c {begin}",
            root=True,
            check=False,
        )
        assert seen.stdout.split() == ["0", "0", "0"]


def test_data_and_state_are_kept_for_their_owners_alone(lab: Lab) -> None:
    modes = lab.bed.ssh(HOST, "stat -c '%a %U' /var/lib/sparkiac/chat /var/lib/sparkiac/agent", root=True).stdout
    assert modes.splitlines() == ["700 root", "700 spark"]


def test_a_second_apply_changes_nothing(lab: Lab) -> None:
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert recap.changed == {"spark-01": 0, "spark-02": 0}, recap.output


MADE = """\
import sqlite3
base = sqlite3.connect("/var/lib/sparkiac/chat/webui.db")
base.execute("create table chat (text)")
base.execute("insert into chat values ('kept')")
base.commit()
"""
READ = """\
import sqlite3
print(*sqlite3.connect("/var/lib/sparkiac/chat/webui.db").execute("select * from chat").fetchone())
"""
OWNERS = "stat -c '%a %U %s %n' /etc/sparkiac/secrets /etc/sparkiac/secrets/* /var/lib/sparkiac/agent/*"


def test_a_backup_brings_a_host_back_that_has_lost_everything(lab: Lab) -> None:
    """The user of the agent has another number then; the host is installed again before the apply."""
    ssh = lab.bed.ssh
    ssh(HOST, f"python3 -c {shlex.quote(MADE)}", root=True)
    before, started = (
        ssh(HOST, OWNERS, root=True).stdout,
        ssh(HOST, f"systemctl show -p InvocationID {UNITS[2]}").stdout,
    )
    (lab.folder / "passphrase").write_text("correct horse\n")
    place = ("../lab.age", "--passphrase-file", "passphrase")
    saved = lab.sparkiac("backup", "inventories/lab.yaml", *place)
    assert saved.returncode == 0, saved.stdout + saved.stderr
    assert "spark-01  /var/lib/sparkiac/chat  " in saved.stdout
    assert ssh(HOST, f"systemctl show -p InvocationID {UNITS[2]}").stdout != started
    assert ssh(HOST, f"systemctl is-active {' '.join(UNITS)}").stdout.split() == ["active"] * 3
    gone = lab.apply("-e", "confirm=yes", "--limit", HOST, playbook="playbooks/uninstall.yml")
    assert gone.code == 0, gone.output
    number = "sed -i 's/^spark:x:[0-9]*:/spark:x:4242:/' /etc/passwd && chown -R 4242 /home/spark"
    ssh(HOST, f"rm -rf /var/lib/sparkiac /etc/sparkiac && {number}", root=True)
    restored = lab.sparkiac("restore", "inventories/lab.yaml", *place, HOST, "--yes")
    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert ssh(HOST, OWNERS, root=True).stdout == before
    lab.bed.reboot(HOST)  # its open connections have the former number of the user
    (lab.folder / "secrets.json").write_text('{"sparkiac_secrets": {}}')
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert ssh(HOST, f"python3 -c {shlex.quote(READ)}", root=True).stdout == "kept\n"
    assert ssh(HOST, f"systemctl is-active {' '.join(UNITS)}").stdout.split() == ["active"] * 3
