"""Pages of what the preflight finds before a start: memory, kernel parameters, and copies of models."""

from __future__ import annotations

from typing import Final

from sparkiac.report import Severity
from sparkiac.rules.others.other import Other, on_host

_THREAD: Final = "DeepSeek-V4 thread L313-337, L376-377"

OTHERS: Final[tuple[Other, ...]] = (
    on_host(
        "MEM002",
        "page-cache",
        """\
The page cache uses memory that a loading model needs.

CPU and GPU share one memory, and CUDA cannot reclaim the memory that the kernel uses as cache: a load runs out of
memory although much of it shows as free. So each unit drops the cache once, as root, just before it starts. This check
fails only if that is not possible.
""",
        "Spark guide L73-75, L644",
        "dual-Spark post L32, L75",
        "SM121 reference L18-19",
    ),
    on_host(
        "MEM009",
        "modeset",
        """\
The kernel parameter `nvidia_drm.modeset` differs from the platform's.

Dual-Spark post (L61) blames `modeset=0` for a limit of about 62 GB of memory that CUDA sees. Other sources use the
whole memory and do not mention it (Spark guide L25, L344; DeepSeek-V4 thread L346), and the post's own figures do not
match: 0.55 of 119.6 GB are the 65.8 GB that it reports. So this is only a warning. If an engine finds far less memory
than the machine has, set the parameter and reboot.
""",
        "dual-Spark post L61",
        severity=Severity.WARNING,
    ),
    on_host(
        "MEM012",
        "memory-reserve",
        """\
The host keeps a reserve of free memory for the kernel, on which sources disagree.

One post of the DeepSeek-V4 thread (L311-323) sets `vm.min_free_kbytes` to 5242880 on its 119 GiB machine and to 3145728
on the 121 GiB one, against `NV_ERR_NO_MEMORY` (alone no evidence: LOG116) while 148 GiB load on two machines. Others
answer that the cause was a defect of vLLM, fixed since (L335-337), and that a clean boot is enough (L376-377). Try
these first. The preflight shows it only if the inventory names it; `load_memory.sysctl` sets it only while a model
loads.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM013",
        "cache-drop-loop",
        """\
A program drops the page cache in a loop.

One post of the DeepSeek-V4 thread does so every 0.1 s while a large checkpoint loads (L325). sparkiac drops the cache
once before each start; with `load_memory: {drop_caches_every_s: 0.1}`, also while the model loads. A loop must end when
the model is loaded, because later it slows every read. This is checked only if the inventory names one of the related
settings.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM014",
        "readahead",
        """\
One source lowers the readahead of an NVMe drive while a model loads.

`blockdev --setra 16` before the load and `--setra 256` after 180 s (DeepSeek-V4 thread L327): for a while the cache
uses less memory, and loading takes longer. If it stays low, it slows every later load. `load_memory: {read_ahead_kib:
8, read_ahead_for_s: 180}` lowers it for a load and restores it. The preflight shows it only if the inventory names one
of the related settings.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM015",
        "reclaim-settings",
        """\
The kernel is set to reclaim cached memory early, on which sources disagree.

One post of the DeepSeek-V4 thread (L329) sets `vm.vfs_cache_pressure` to 200, `vm.dirty_ratio` to 5 and
`vm.dirty_background_ratio` to 2; others of the same thread never needed any of it (L337, L376-377). The preflight shows
the setting only if the inventory names it.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM017",
        "memory-stuck",
        """\
Memory is in use, but by no visible process.

After a container stopped, the driver can keep about 100 GiB until a reboot (DeepSeek-V4 thread L374-375). In dual-Spark
post (L25-32) plain restarts free the memory in production. So the preflight checks first: it warns if less than three
quarters of the memory is available while no container runs, and a unit does not start without the memory that it needs.
Check what else runs; if nothing does, reboot. Always reboot before you compare two runs.
""",
        "DeepSeek-V4 thread L374-375, L377",
        "dual-Spark post L25-32",
    ),
    on_host(
        "MN008",
        "store-differs",
        """\
The nodes of a group have different copies of a model.

Each node loads its part from its own model store, and parts of two revisions do not fit together. The preflight names
the revision on each node: the commit that `refs/main` names in the cache of the hub, or the one that `hf download`
recorded beside a plain directory. The playbooks stop if they differ, or if the revision is known on one node only.
Stage the model again, or copy it from node to node.
""",
        "Spark guide L660-661",
    ),
    on_host(
        "SPD007",
        "old-drafter",
        """\
The copy of a drafter is older than the fix for a crash.

`z-lab/Qwen3.6-35B-A3B-DFlash` crashed at long context until 2026-04-19. The hub's cache records no commit dates, but a
copy from before that day cannot contain the fix. The reverse does not hold: a later copy can still be an old revision,
if somebody requested one. Remove the copy and stage it again.
""",
        "Spark guide L164",
    ),
)
