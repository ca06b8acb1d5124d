"""Pages of what the preflight finds on a host: memory before a start, and the copies of models."""

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
The page cache is in the way of a model that loads.

CPU and GPU share one memory, and CUDA does not get back what the kernel caches: a load runs out of memory while much
of it shows as free. So each unit drops the cache once, as root, just before it starts. This line fails only where
that cannot be done.
""",
        "Spark guide L73-75, L644",
        "dual-Spark post L32, L75",
        "SM121 reference L18-19",
    ),
    on_host(
        "MEM009",
        "modeset",
        """\
The kernel parameter `nvidia_drm.modeset` is not the platform's.

Dual-Spark post (L61) blames `modeset=0` for a limit of about 62 GB of memory that CUDA sees. Other sources use the
whole memory and say nothing of it (Spark guide L25, L344; DeepSeek-V4 thread L346), and the post's own figures do not
fit together: 0.55 of 119.6 GB are the 65.8 GB that it reports. So this only warns. If an engine finds far less memory
than the machine has, set the parameter and reboot.
""",
        "dual-Spark post L61",
        severity=Severity.WARNING,
    ),
    on_host(
        "MEM012",
        "memory-reserve",
        """\
The host keeps a reserve of free memory for the kernel, which sources disagree on.

One post of the DeepSeek-V4 thread (L311-323) sets `vm.min_free_kbytes` to 5242880 on its 119 GiB machine and to
3145728 on the 121 GiB one, against `NV_ERR_NO_MEMORY` while a checkpoint of 148 GiB loads on two machines. Others
answer that a defect of vLLM was the cause, since mended (L335-337), and that a clean boot is enough (L376-377). Try
these first. The line shows the setting, and only where the inventory names it.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM013",
        "cache-drop-loop",
        """\
A program drops the page cache again and again.

One post of the DeepSeek-V4 thread does so each 0.1 s while a large checkpoint loads (L325). sparkiac does not: it
drops the cache once before each start. A loop must end when the model is loaded, because later it slows every read.
Looked for only where the inventory names one of the settings that belong to it.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM014",
        "readahead",
        """\
The readahead of an NVMe drive, which one source lowers while a model loads.

`blockdev --setra 16` before the load and `--setra 256` after 180 s (DeepSeek-V4 thread L327): less cache is in the
way for a while, and loading takes longer. Left low, it slows every later load. sparkiac does not change it. Shown
only where the inventory names one of the settings that belong to it.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM015",
        "reclaim-settings",
        """\
The kernel is told to give cached memory back early, which sources disagree on.

One post of the DeepSeek-V4 thread (L329) sets `vm.vfs_cache_pressure` to 200, `vm.dirty_ratio` to 5 and
`vm.dirty_background_ratio` to 2; others of the same thread never needed any of it (L337, L376-377). The line shows
the setting, and only where the inventory names it.
""",
        _THREAD,
        severity=Severity.INFO,
    ),
    on_host(
        "MEM017",
        "memory-stuck",
        """\
Memory is missing that nothing seems to use.

After a container stopped, about 100 GiB can stay with the driver until a reboot (DeepSeek-V4 thread L374-375). Plain
restarts do in production what they should in dual-Spark post (L25-32). So the preflight looks first: it warns if
less than three quarters of the memory is available while no container runs, and a unit does not start without the
memory that it takes. See what else runs; if nothing does, reboot. Before two runs are compared, always reboot.
""",
        "DeepSeek-V4 thread L374-375, L377",
        "dual-Spark post L25-32",
    ),
    on_host(
        "MN008",
        "store-differs",
        """\
The nodes of a group do not have the same copy of a model.

Each node loads its part from its own model store, and parts of two revisions are no model. The preflight names the
revision on each node: the commit that `refs/main` names in the cache of the hub, or the one that `hf download` noted
beside a plain directory. The playbooks stop where they differ, or where only one node knows its own. Stage the model
anew, or copy it from node to node.
""",
        "Spark guide L660-661",
    ),
    on_host(
        "SPD007",
        "old-drafter",
        """\
The copy of a drafter was fetched before a defect in it was mended.

`z-lab/Qwen3.6-35B-A3B-DFlash` crashed at long context until 2026-04-19. The hub's cache keeps no date of a commit,
but what was fetched before that day cannot be newer than it. The reverse is not known: a copy that was fetched later
can still be an old revision, if somebody asked for one. Remove the copy and stage it anew.
""",
        "Spark guide L164",
    ),
)
