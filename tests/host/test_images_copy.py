"""The role `images` where one host gives images to another: Ansible, two hosts that are this machine, a docker each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.host.conftest import SCRIPTS
from tests.host.plays import play
from tests.host.staging import SYSTEMCTL, SYSTEMD_RUN, free_port, write_stubs
from tests.host.tree import IMAGE

ROOT = Path(__file__).parents[2]
ID = "sha256:" + "a" * 64
BUILT = "sha256:" + "b" * 64
WRONG = "sha256:" + "c" * 64
DOCKER = """\
#!/bin/sh
# Stand-in for docker: a line of $STUB/images is the ID of an image and the names it has. An archive is a line of text.
# What is pulled has the ID that $STUB/pulls-as says, what is saved the one that $STUB/saves-as says.
echo "$*" >>"$STUB/log"
case "$1 $2" in
  "image ls") cut -d' ' -f1 "$STUB/images" ;;
  "image inspect") for last; do :; done; grep -F -- "$last" "$STUB/images" >/dev/null && echo "$last 1" ||
    { echo "No such image: $last" >&2; exit 1; } ;;
  "image rm") sed -i "/$4/d" "$STUB/images" ;;
  "pull --quiet") echo "$(cat "$STUB/pulls-as") $3" >>"$STUB/images" ;;
  "load ") read -r line; echo "$line" >>"$STUB/images"; echo "Loaded image ID: $line" ;;
  "info --format") echo '[]' ;;
  save*) grep -qF "$2" "$STUB/images" || exit 1; cat "$STUB/saves-as" 2>/dev/null || echo "$2" ;;
  *) exit 9 ;;
esac
"""


@dataclass(frozen=True)
class Pair:
    """Two hosts: `giver` pulls, `taker` gets its images from it."""

    folder: Path
    port: int

    def images(self, host: str) -> list[str]:
        """Return the IDs that a host has."""
        return [line.split()[0] for line in (self.folder / host / "images").read_text().splitlines()]

    def log(self, host: str) -> str:
        """Return what its docker was asked."""
        return (self.folder / host / "log").read_text()

    def apply(self, *words: str, images: tuple[str, ...] = (IMAGE,), **data: Any) -> tuple[int, dict[str, int], str]:  # noqa: ANN401  JSON
        """Run the role on both; give the exit code, the changed tasks by host, and what was said on one line."""
        hosts = {}
        for name, near in (("giver", None), ("taker", {"host": "giver", "address": "127.0.0.2"})):
            known = {image: ID if image == IMAGE else image for image in images}
            own = {
                "host": name,
                "images": list(images),
                "image_ids": known,
                "images_from": near,
                "stores": [],
                "copied_by": [],
                "nft_optional": False,
            }
            own |= {"gpu_image": "", "builds": [{"image": BUILT, "name": "engine"}], **data}
            hosts[name] = {
                "sparkiac": own,
                "stub": str(self.folder / name),
                "stage_program": str(SCRIPTS / "stage"),
                "stage_share_token": str(self.folder / name / "share/token"),
                "stage_lists": str(self.folder / name),
                "stage_share_port": self.port,
                "stage_root": "/",
                "stage_owner": os.geteuid(),
                "stage_share_directory": str(self.folder / name / "share"),
                "stage_share_unit": f"sparkiac-share-{name}",
            }
        (self.folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        done = play(self.folder, *words, inventory="inventory.yml")
        return done.code, done.changed, done.sentence


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    for name in ("bin", "giver", "taker"):
        (tmp_path / name).mkdir()
    write_stubs(tmp_path / "bin", {"docker": DOCKER, "systemd-run": SYSTEMD_RUN, "systemctl": SYSTEMCTL})
    for name in ("giver", "taker"):
        (tmp_path / name / "images").write_text("sha256:old own:1\n")
        (tmp_path / name / "pulls-as").write_text(ID)
    (tmp_path / "roles").symlink_to(ROOT / "playbooks/roles")
    written = {"hosts": "all", "gather_facts": False, "environment": {"STUB": "{{ stub }}"}}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([written | {"roles": [{"role": "images"}]}]))
    return Pair(tmp_path, free_port())


def test_one_host_pulls_and_the_other_copies_and_a_second_run_changes_nothing(pair: Pair) -> None:
    code, changed, said = pair.apply("--check")
    assert (code, changed) == (0, {"giver": 1, "taker": 1}), said
    assert f"would pull {IMAGE}" in said
    assert f"would copy {IMAGE} from giver" in said
    code, _, said = pair.apply()
    assert code == 0, said
    assert pair.images("giver") == pair.images("taker") == ["sha256:old", ID]
    assert "pull" not in pair.log("taker")
    assert not (pair.folder / "taker/share").exists()
    assert list(pair.folder.glob("*/*.service")) == []
    for words in ((), ("--check", "--diff")):
        code, changed, said = pair.apply(*words)
        assert (code, changed) == (0, {"giver": 0, "taker": 0}), said


def test_images_of_builds_are_copied_too_and_before_the_host_has_the_manifests_of_its_models(pair: Pair) -> None:
    (pair.folder / "giver/images").write_text(f"{BUILT} engine:1\n")
    model = {
        "model": "acme/tiny",
        "commit": "0" * 40,
        "layout": "hub",
        "manifest": "models/acme--tiny.json",
        "own": None,
    }
    stores = [{"path": str(pair.folder / "store"), "models": [model]}]
    code, _, said = pair.apply(images=(IMAGE, BUILT), stores=stores)
    assert code == 0, said
    assert set(pair.images("taker")) == {"sha256:old", ID, BUILT}
    assert "pull" not in pair.log("taker")


def test_a_wrong_image_is_removed_and_ends_the_play(pair: Pair) -> None:
    (pair.folder / "giver/saves-as").write_text(f"{WRONG}\n")
    code, _, said = pair.apply()
    assert code == 2
    assert f"sent {WRONG} instead of the image {ID}; it was removed" in said
    assert pair.images("taker") == ["sha256:old"]
    assert not (pair.folder / "taker/share").exists()


def test_without_the_giver_the_registry_is_asked_and_the_id_compared(pair: Pair) -> None:
    """A limit leaves the giver out; a pull by digest gives the same ID."""
    code, _, said = pair.apply("--limit", "taker")
    assert code == 0, said
    assert pair.images("taker") == ["sha256:old", ID]
    assert pair.images("giver") == ["sha256:old"]
    (pair.folder / "taker/images").write_text("")
    (pair.folder / "taker/pulls-as").write_text(WRONG)
    code, _, said = pair.apply("--limit", "taker")
    assert code == 2
    assert f"On taker, {IMAGE} has another ID than in the lock" in said
    assert "containerd-snapshotter" in said


def test_a_giver_that_cannot_share_is_no_obstacle(pair: Pair) -> None:
    (pair.folder / "bin/systemd-run").write_text("#!/bin/sh\nexit 1\n")
    code, _, said = pair.apply()
    assert code == 0, said
    assert "Connection refused" in said
    assert pair.images("taker") == ["sha256:old", ID]
    assert "pull --quiet" in pair.log("taker")
