"""Prometheus and Alertmanager on booted hosts: they watch the stand-in, and a message says that a server is gone.

Prometheus, Alertmanager and node_exporter are Debian's own, in images of the bed. The GPU exporter is a stand-in, and
Grafana is not there. The waits of the alert are shortened on the host, so that the test takes no 20 minutes.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

ON = "spark-02"
PROMETHEUS = "http://127.0.0.1:9090"
GPU = """\
#!/usr/bin/env python3
# Stand-in for the GPU exporter: two of its metrics, with invented values.
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'nvidia_smi_last_collect_success 1\\nnvidia_smi_temperature_gpu{uuid="stand-in"} 51\\n')
address, port = sys.argv[1].partition("=")[2].split(":")
HTTPServer((address, int(port)), Handler).serve_forever()
"""
RECEIVER = """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[2], "ab") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])).strip() + b"\\n")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
HTTPServer((sys.argv[1], 8099), Handler).serve_forever()
"""
IMAGES = {
    "docker.io/prom/prometheus:v3.5.0": "prometheus",
    "docker.io/prom/alertmanager:v0.28.1": "prometheus-alertmanager",
    "docker.io/prom/node-exporter:v1.9.1": "prometheus-node-exporter",
}
"""Reference in the lock → Debian's program in the image of that name."""
GPU_EXPORTER = "docker.io/utkuozdemir/nvidia_gpu_exporter:1.15.1"
TEMPLATES = Path("/usr/share/prometheus/alertmanager")
"""Debian's Alertmanager reads its default templates from files."""
MONITORING = """
monitoring:
  prometheus: {hosts: spark-02}
  alerts: {webhook: {url: "http://10.77.0.1:8099/alerts"}}
  exporters: {node: {image: "docker.io/prom/node-exporter:v1.9.1"}}
"""
RULES, SCRAPES, ROUTES = (
    "/etc/sparkiac/prometheus/config/rules.yml",
    "/etc/sparkiac/prometheus/config/prometheus.yml",
    "/etc/sparkiac/alertmanager/config/alertmanager.yml",
)
SHORTER = (
    f'sed -i \'s/for: "20m"/for: "5s"/\' {RULES}',
    f'sed -i \'s/_interval: "15s"/_interval: "2s"/\' {SCRAPES}',
    f'sed -i \'s/group_wait: "30s"/group_wait: "1s"/; s/group_interval: "5m"/group_interval: "5s"/\' {ROUTES}',
    "docker kill --signal HUP sparkiac-prometheus-server-1 sparkiac-alertmanager-server-1",
)
MEASURE = "systemctl start sparkiac-metrics.service"
"""What its timer does once a minute, now."""


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab with its monitoring, applied."""
    programs = {reference: shutil.which(name) for reference, name in IMAGES.items()}
    if None in programs.values():
        pytest.skip(f"needs {', '.join(IMAGES.values())} of Debian")
    found = Lab(bed, tmp_path_factory.mktemp("monitoring"))
    found.write()
    found.inventory.write_text(found.inventory.read_text() + MONITORING)
    file = found.inventory.with_name("lab.lock.yaml")
    lock = json.loads(file.read_text())
    templates = {str(path): path.read_bytes() for path in TEMPLATES.glob("*.tmpl")}
    for reference, path in programs.items():
        lock["images"][reference] = pushed(bed, reference, Path(str(path)).read_bytes(), templates)
    lock["images"][GPU_EXPORTER] = pushed(bed, GPU_EXPORTER, GPU.encode(), {})
    file.write_text(json.dumps(lock))
    found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def pushed(bed: Bed, reference: str, program: bytes, beside: dict[str, bytes]) -> dict[str, Any]:
    """Push an image with one program and further files; give its entry in the lock."""
    entrypoint = ["/usr/bin/program"]
    repository = reference.replace("docker.io/", "hub/").partition(":")[0]
    digest = bed.push(repository, entrypoint=entrypoint, files={entrypoint[0]: program, **beside})
    return {"digest": digest, "entrypoint": entrypoint}


@pytest.fixture(scope="module")
def messages(lab: Lab) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Start a receiver of messages on the control station; give what it got, one entry for each alert."""
    file = lab.folder / "messages"
    argv = lab.bed.inside([sys.executable, "-c", RECEIVER, "10.77.0.1", str(file)])
    with subprocess.Popen(argv) as process:
        try:
            yield lambda: [
                alert
                for line in (file.read_text().split("\n")[:-1] if file.exists() else [])
                for alert in json.loads(line)["alerts"]
            ]
        finally:
            process.terminate()


def asked(lab: Lab, query: str) -> list[dict[str, Any]]:
    """Query Prometheus, which listens on loopback of its host."""
    url = f"{PROMETHEUS}/api/v1/query?query={quote(query)}"
    ask = f"import urllib.request as r; print(r.urlopen({url!r}).read().decode())"
    done = lab.bed.ssh(ON, shlex.join(["python3", "-c", ask]), check=False)
    found: list[dict[str, Any]] = json.loads(done.stdout)["data"]["result"] if done.returncode == 0 else []
    return found


def wait(condition: Callable[[], bool], what: str) -> None:
    """Wait for something; host_metrics runs once a minute."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, f"no {what} within 300 s"
        time.sleep(1)


def test_everything_is_collected(lab: Lab) -> None:
    for line in SHORTER:
        lab.bed.ssh(ON, line, root=True)
    wait(lambda: len(asked(lab, "up == 1")) == 8, "answer of all 8 targets")
    jobs = sorted((each["metric"]["job"], each["metric"]["host"]) for each in asked(lab, "up"))
    assert jobs == [
        ("alertmanager", "spark-02"),
        ("deployments", "spark-01"),
        ("deployments", "spark-02"),
        ("gpu", "spark-01"),
        ("gpu", "spark-02"),
        ("node", "spark-01"),
        ("node", "spark-02"),
        ("prometheus", "spark-02"),
    ]


def test_quantities_are_recorded_and_the_host_writes_its_metrics(lab: Lab) -> None:
    wait(lambda: len(asked(lab, "sparkiac:requests_running")) == 2, "recorded quantity")
    ready = 'sparkiac_unit_ready{deployment!=""} == 1'
    wait(lambda: {each["metric"]["deployment"] for each in asked(lab, ready)} == {"qwen36", "gemma4"}, "ready units")
    wait(lambda: len(asked(lab, "sparkiac_generation_known == 1")) == 2, "generation of both hosts")
    assert asked(lab, "sparkiac_kernel_messages_total")
    assert asked(lab, "node_memory_MemAvailable_bytes")


def test_a_message_says_that_a_server_is_gone_and_that_it_is_back(
    lab: Lab, messages: Callable[[], list[dict[str, Any]]]
) -> None:
    def told(status: str) -> bool:
        return any(
            (each["status"], each["labels"]["alertname"], each["labels"].get("deployment"))
            == (status, "DeploymentNotReady", "qwen36")
            for each in messages()
        )

    lab.bed.ssh("spark-01", f"systemctl stop sparkiac-qwen36; {MEASURE}", root=True)
    wait(lambda: told("firing"), "message that qwen36 is not ready")
    lab.bed.ssh("spark-01", f"systemctl start sparkiac-qwen36; {MEASURE}", root=True)
    wait(lambda: told("resolved"), "message that qwen36 is ready again")
    [alert] = [
        each
        for each in messages()
        if each["labels"]["alertname"] == "DeploymentNotReady" and each["status"] == "firing"
    ][:1]
    assert alert["annotations"]["summary"] == "qwen36 on spark-01 has not been ready for 20 minutes"
    assert alert["annotations"]["doc"] == "docs/alerts.md#deploymentnotready"
