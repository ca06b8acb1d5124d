"""A real OCI registry (Debian's docker-registry) on the control station's address."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from tests.e2e.bed.network import CONTROL_ADDRESS
from tests.e2e.bed.shell import PATH, run, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed.network import Network
    from tests.upstream.registry.servers import Authority

PORT = 5000
ADDRESS = f"{CONTROL_ADDRESS}:{PORT}"
TLS_PORT = 5443
TLS_ADDRESS = f"{CONTROL_ADDRESS}:{TLS_PORT}"


def start(
    network: Network, directory: Path, *, htpasswd: Path | None = None, tls: Authority | None = None
) -> subprocess.Popen[bytes]:
    """Start the registry, with its data under `directory`; it ends with its network namespace.

    With a certificate it listens at `TLS_ADDRESS`: a second process for the same data.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port = TLS_PORT if tls else PORT
    http: dict[str, object] = {"addr": f"{CONTROL_ADDRESS}:{port}"}
    if tls:
        http["tls"] = {"certificate": str(tls.certificate), "key": str(tls.private)}
    settings: dict[str, object] = {
        "version": "0.1",
        "http": http,
        "storage": {"filesystem": {"rootdirectory": str(directory / "data")}, "delete": {"enabled": True}},
    }
    if htpasswd:
        settings["auth"] = {"htpasswd": {"realm": "bed", "path": str(htpasswd)}}
    config = directory / f"config-{port}.yml"
    config.write_text(json.dumps(settings))  # JSON is YAML
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            network.inside(["docker-registry", "serve", config]),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "PATH": PATH},
        )  # fmt: skip
    probe = f"exec 3<>/dev/tcp/{CONTROL_ADDRESS}/{port}"
    wait_for(
        lambda: run(network.inside(["bash", "-c", probe]), check=False).returncode == 0,
        f"the registry on {CONTROL_ADDRESS}:{port}; its log is {directory / 'log'}",
        timeout=300,
    )
    return process


def push(network: Network, layout: Path, repository: str, tag: str, *, credentials: str | None = None) -> str:
    """Copy an OCI layout, all its platforms, to `repository`:`tag`; return the index's digest."""
    target = f"docker://{ADDRESS}/{repository}:{tag}"
    access = ["--dest-creds", credentials] if credentials else []
    run(network.inside(
        ["skopeo", "copy", "--quiet", "--all", "--preserve-digests", "--dest-tls-verify=false",
         *access, f"oci:{layout}", target],
    ))  # fmt: skip
    return index_digest(layout)


def index_digest(layout: Path) -> str:
    """Return the digest of the one image that an OCI layout holds."""
    index = json.loads((layout / "index.json").read_text())
    (image,) = index["manifests"]
    digest: str = image["digest"]
    return digest
