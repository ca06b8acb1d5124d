"""What became of the codes that are looked at on a host: a line of the preflight, or what makes them impossible."""

from __future__ import annotations

from typing import Final

COVERED: Final = {
    "SPD007": "preflight: age of a drafter",
    "MEM002": "preflight: page cache",
    "MEM009": "preflight: nvidia_drm.modeset",
    "MEM012": "preflight: vm.min_free_kbytes, where the inventory sets it",
    "MEM013": "preflight: loop that drops caches, where the inventory tunes loads",
    "MEM014": "preflight: readahead, where the inventory tunes loads",
    "MEM015": "preflight: vm.vfs_cache_pressure, vm.dirty_ratio and the like, where the inventory sets them",
    "MEM017": "preflight: idle memory, and available memory before a start",
    "HST001": "preflight: docker socket, and the user's groups",
    "HST002": "preflight: nvidia-smi and container_toolkit; role images: nvidia-smi in a container",
    "HST003": "preflight: image; role images: what a registry that refuses says",
    "HST004": "preflight: store, of a gated model",
    "HST006": "preflight: store",
    "HST009": "preflight: architecture, gpu, compute capability, memory",
    "HST011": "by construction: tests/host/test_images_role.py::test_the_image_of_the_former_deployment_stays",
    "HST014": "preflight: extra file, before a start",
    "DRV001": "preflight: driver",
    "DRV002": "preflight: driver for a unit, with forward compatibility",
    "DRV003": "preflight: driver for a unit",
    "MN008": "preflight: revision of a group's model; role preflight: the nodes are compared",
    "CCH002": (
        "by construction: tests/plan/test_deployments.py"
        "::test_the_cache_name_changes_with_everything_compiled_code_depends_on"
    ),
}
