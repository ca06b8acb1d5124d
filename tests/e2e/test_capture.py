"""`sparkiac images capture` with the real Docker of a host, over the real ssh, in a container that has a small vLLM.

The image is Python from the hosts' own root with the source tree of tests/catalog/test_extractor.py. Once, by hand, the
same was done with the Python sources of vLLM 0.32.0: the answer was that of sparkiac/catalog/vllm, byte for byte but
for the name of the version. An image of NVIDIA's or vLLM's own has not been asked: not verified on hardware.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING, Final

import pytest

from tests.catalog.test_extractor import TREE
from tests.plan.fleets import deployment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

HOST: Final = "spark-01"
MAKE: Final = """\
set -e
docker pull --quiet {base}
docker create --name made {base} none
docker cp - made:/usr/lib/python3.13 </tmp/site.tar
docker commit made {image}
docker rm made
docker push --quiet {image}
docker image inspect --format '{{{{index .RepoDigests 0}}}}' {image}
"""


def site() -> bytes:
    """Pack what Python finds in the image."""
    packed = io.BytesIO()
    files = {f"vllm/{name}": text for name, text in TREE.items()}
    files["vllm-1.2.3.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: vllm\nVersion: 1.2.3\n"
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture(scope="module")
def image(bed: Bed) -> str:
    """Make the image on the host and push it; give it with its digest."""
    bed.push("captured/base")
    target = f"spark@{bed.hosts[HOST].address}"
    copy = bed.inside(["ssh", *bed.ssh_options, target, "cat >/tmp/site.tar"])
    subprocess.run(copy, input=site(), check=True)
    text = MAKE.format(base=f"{bed.registry}/captured/base:latest", image=f"{bed.registry}/captured/vllm:1")
    return bed.ssh(HOST, text, root=True).stdout.splitlines()[-1]


def sparkiac(bed: Bed, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the control station, with an ssh that knows the bed's key and hosts."""
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh {" ".join(bed.ssh_options)} "$@"\n')
    wrapper.chmod(0o755)
    env = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    return bed.run([sys.executable, "-m", "sparkiac", *words], cwd=folder, env=env, check=False)


def test_an_image_on_a_host_says_what_its_vllm_takes(bed: Bed, image: str, tmp_path: Path) -> None:
    repository, _, digest = image.partition("@")
    reference = f"{repository}:1"
    (tmp_path / "lab.yaml").write_text(deployment(f"image: {reference}", "set: {swap_space: 4, level: high}"))
    (tmp_path / "lab.lock.yaml").write_text(f'version: 1\nimages: {{"{reference}": {{digest: "{digest}"}}}}\n')
    host = f"spark@{bed.hosts[HOST].address}"
    made = sparkiac(bed, tmp_path, "images", "capture", reference, "--inventory", "lab.yaml", "--host", host)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "interfaces/vllm-1.json: written: vLLM 1.2.3 with 14 options\n"
    assert digest in json.loads((tmp_path / "interfaces/vllm-1.json").read_text())["image"]["digests"]
    checked = sparkiac(bed, tmp_path, "check", "lab.yaml", "--select", "FLG", "--format", "json")
    found = {(each["code"], each["severity"]) for each in json.loads(checked.stdout)["findings"]}
    assert {("FLG101", "error"), ("FLG102", "error")} <= found


def test_an_image_that_is_not_there_is_not_pulled(bed: Bed, image: str, tmp_path: Path) -> None:
    host, missing = f"spark@{bed.hosts[HOST].address}", image.replace("captured/vllm", "captured/base")
    found = sparkiac(bed, tmp_path, "images", "capture", missing, "--output", "x.json", "--host", host)
    assert (found.returncode, found.stdout) == (6, "")
    assert found.stderr.startswith(f"{missing} is not on {host}; pull it there first")


def test_an_image_without_vllm_is_refused(bed: Bed, image: str, tmp_path: Path) -> None:
    base = f"{image.partition('/')[0]}/captured/base:latest"
    host = f"spark@{bed.hosts[HOST].address}"
    found = sparkiac(bed, tmp_path, "images", "capture", base, "--output", "x.json", "--host", host)
    assert (found.returncode, found.stderr) == (
        6,
        f"the python3 of {base} has no vLLM; the image may contain another engine\n",
    )
