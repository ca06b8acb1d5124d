"""Pages of the preflight's findings about the machine and its driver."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other, on_host

OTHERS: Final[tuple[Other, ...]] = (
    on_host(
        "HST001",
        "docker-not-allowed",
        """\
The units have no permission to use Docker.

They run as the user `sparkiac` in the group `docker`; the playbooks add it. If `/run/docker.sock` belongs to another
group, or the group cannot read and write it, each start ends with `permission denied … docker.sock`. Install Docker
from its packages, which create the group. For your own account: `usermod -aG docker NAME`, then log in again.
""",
        "Spark guide L68, L643",
    ),
    on_host(
        "HST002",
        "no-gpu",
        """\
The GPU is not visible on the host or in a container on it.

Without a driver, or without NVIDIA's Container Toolkit, no engine starts. The preflight runs `nvidia-smi` on the host
and reads the toolkit's version. Once the images are there, and before anything is replaced, the playbooks run
`nvidia-smi` in a container of an engine's own image; nothing else is pulled for that.
""",
        "Spark guide L67, L69",
    ),
    on_host(
        "HST003",
        "registry-login",
        """\
A registry requires a login for an image.

NVIDIA's registry answers 401 then. The playbooks pull as root, so root must be logged in on the host: `docker login
nvcr.io --username '$oauthtoken'`, with an NGC API key as password. The user name is literally `$oauthtoken`: put it in
single quotes, or the shell replaces it. The preflight warns if an image is missing and root has no login; it is only a
warning, because the image may be public.
""",
        "Spark guide L72",
    ),
    on_host(
        "HST004",
        "gated-model",
        """\
The weights of a gated model are not on the host.

Its publisher grants access to those who accepted its licence; otherwise the download fails with 401. Accept the licence
on the model's page, set `HF_TOKEN` to a token of that account, and stage the weights. The containers never get the
token: they read the model store and run offline.
""",
        "Spark guide L52, L71, L229, L646",
    ),
    on_host(
        "HST006",
        "weights-not-staged",
        """\
The weights of a model are not on the host.

The containers run offline and only read the model store, so that a start never waits for a download, a restart
downloads nothing, and root owns none of your files. Stage the weights first; the message of the preflight contains the
command.
""",
        "Spark guide L49-53, L60",
        "vLLM blog L37",
    ),
    on_host(
        "HST009",
        "another-machine",
        """\
The host is not the machine that the inventory describes.

Recipes, images and memory shares are valid for one kind of hardware: a DGX Spark is aarch64, with one NVIDIA GB10 of
compute capability 12.1 and one memory for CPU and GPU. Check that this is the right host. If it is, set its platform
and its memory in the inventory: machines with 119 GiB and with 121 GiB both exist.
""",
        "Spark guide L25-30, L120",
        "vLLM blog L12",
        "SM121 reference L1, L16",
        "DeepSeek-V4 thread L313",
    ),
    on_host(
        "HST014",
        "extra-file-missing",
        """\
A file that the container mounts beside the model is missing.

A parser plug-in or a chat template is named on the server's command line, and the server does not start without it. The
playbooks fetch each such file and refuse one whose content differs from the pinned one. If it is missing at a start,
somebody removed it: run the playbooks again.
""",
        "Spark guide L282-284, L298-302",
    ),
    on_host(
        "DRV001",
        "driver-differs",
        """\
The driver differs from the inventory, or is one on which sources disagree.

A driver other than the one in the inventory is an error: it came with an unplanned update, or the host has not been
rebooted since. Install and hold the right one, or set the new one as `driver:` of the host.

The platform names series 580. SM121 reference (L20-23) says to stay on 580.142, because CUDA graphs hang on 590;
dual-Spark post (L3) runs 590 in production. So the inventory may name it, and the preflight warns: test such a driver
under load before it serves. Do not work around a hang with `enforce_eager`.
""",
        "SM121 reference L20-23, L69",
        "dual-Spark post L3",
    ),
    on_host(
        "DRV002",
        "forward-compatibility",
        """\
An image runs on an older driver than it was built for, through CUDA's forward compatibility.

`nvcr.io/nvidia/vllm:25.12.post1-py3` was built for 590.44 and newer, and runs on 580. A good start logs `CUDA Forward
Compatibility mode ENABLED`. If it logs `UNAVAILABLE` at each of many starts, look for other errors of the start first;
then use `vllm/vllm-openai:cu130-nightly`. A newer driver is the last choice: see DRV001.
""",
        "Spark guide L303",
        severity=Severity.WARNING,
    ),
    on_host(
        "DRV003",
        "driver-too-old",
        """\
The driver is older than an image requires, and no source has run the two together.

For some images, the catalog records the oldest driver that they were built for. This is checked before the image is
pulled. Use another image, or a driver that both the image and the platform name.
""",
        "SM121 reference L22-23",
        "Spark guide L303",
    ),
)
