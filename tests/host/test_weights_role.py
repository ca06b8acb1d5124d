"""The role `weights`, run by Ansible for three hosts that are all this machine: each model leaves the hub once."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from sparkiac.render import playbooks
from tests.host import programs
from tests.host.conftest import SCRIPTS
from tests.host.plays import Played, play
from tests.host.staging import (
    FILES,
    NFT,
    SAFETENSORS,
    SYSTEMCTL,
    SYSTEMD_RUN,
    Store,
    contents,
    free_port,
    tiny,
    write_stubs,
)
from tests.standin.hub import Fault, Hub, Repository, sha256

ROOT = Path(__file__).parents[2]
TOKEN = "hf_canary-role-83ab-not-a-real-token"  # noqa: S105  no token
PROGRAMS = Path("root/usr/local/lib/sparkiac")
LARGE = "model-00001.safetensors"


@dataclass
class Fleet:
    """A tree with hosts, each with a store and directories of its own, whose fabric is 127.0.0.0/8."""

    folder: Path
    stores: dict[str, Store] = field(default_factory=dict)
    unplugged: set[str] = field(default_factory=set)
    """Hosts that nobody shares a fabric with."""
    reserved: dict[str, int] = field(default_factory=dict)
    """How many bytes must stay free on a host."""
    token: str | None = None
    port: int = field(default_factory=free_port)

    def host(self, name: str) -> Store:
        """Return the store of a host, which has the program already."""
        if name not in self.stores:
            shutil.copytree(SCRIPTS, self.folder / name / PROGRAMS, ignore=shutil.ignore_patterns("__pycache__"))
            self.stores[name] = Store(self.folder / name)
        return self.stores[name]

    def strip(self) -> None:
        """Take the program from all hosts: they are as they were before the first apply."""
        for store in self.stores.values():
            shutil.rmtree(store.folder / "root")

    def want(self, repository: Repository, *hosts: str, layout: str = "hub", owner: str = "") -> str:
        """Require a model on hosts; its files lie on `owner`, if that is named."""
        (self.folder / "models").mkdir(exist_ok=True)
        for name in hosts:
            folder = str(self.folder / "out") if name == owner else None
            own = {"host": owner, "path": folder} if owner else None
            commit = self.host(name).want(repository, layout=layout, own=own)
            slug = repository.handle.replace("/", "--")
            shutil.move(self.stores[name].manifests / f"{slug}.json", self.folder / "models" / f"{slug}.json")
            self.stores[name].wanted[-1]["manifest"] = f"models/{slug}.json"
        return commit

    def fill(self, name: str, hub: Hub) -> None:
        """Let a host have its models, as after an apply."""
        shutil.copytree(self.folder / "models", self.stores[name].manifests / "models")
        assert self.stores[name].fetch(hub.url).code == 0

    def variables(self, name: str, endpoint: str) -> dict[str, Any]:
        """Make the variables of a host."""
        store, numbers = self.stores[name], {each: number for number, each in enumerate(sorted(self.stores), 2)}
        near = [each for each in sorted(self.stores) if each != name and not {each, name} & self.unplugged]
        data = {
            "host": name,
            "stores": json.loads(store.stores()) if store.wanted else [],
            "copied_by": [f"127.0.0.{numbers[each]}" for each in near],
            "nft_optional": True,
            "fetch": {
                "endpoint": endpoint,
                "token": self.token,
                "from": [{"host": each, "address": f"127.0.0.{numbers[each]}"} for each in near],
            },
        }
        own = {name: str(store.folder / name) for name in ("root", "share", "secrets")}
        return {
            "sparkiac": data,
            "sparkiac_programs": [{"path": each.path} for each in playbooks.on_every_host()],
            "stage_root": own["root"],
            "stage_programs": str(SCRIPTS),
            "stage_lists": f"{own['root']}/etc/sparkiac",
            "stage_owner": pwd.getpwuid(os.geteuid()).pw_name,
            "stage_share_directory": own["share"],
            "stage_share_unit": f"sparkiac-share-{name}",
            "weights_secrets": own["secrets"],
            "stage_share_port": self.port,
            "weights_reserve_bytes": self.reserved.get(name, 0),
        }

    def apply(self, endpoint: str, *words: str) -> Played:
        """Run the roles on all hosts; give the exit code, the changed tasks by host, and what was said."""
        hosts = {name: self.variables(name, endpoint) for name in sorted(self.stores)}
        (self.folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        return play(self.folder, *words, playbook="playbooks/play.yml", inventory="inventory.yml")


def make(folder: Path) -> Fleet:
    """Write a play of the role."""
    for name in ("bin", "playbooks"):
        (folder / name).mkdir()
    write_stubs(folder / "bin", {"systemd-run": SYSTEMD_RUN, "systemctl": SYSTEMCTL, "nft": NFT})
    (folder / "playbooks/roles").mkdir()
    for name in ("roles/stage", "roles/weights", "vars", "bundle.py"):
        (folder / "playbooks" / name).symlink_to(ROOT / "playbooks" / name)
    programs.write(folder / "playbooks/roles/programs/files")
    roles = [{"role": "stage", "when": False}, {"role": "weights"}]
    written = {"hosts": "all", "gather_facts": False, "vars_files": ["vars/main.yml"], "roles": roles}
    (folder / "playbooks/play.yml").write_text(yaml.safe_dump([written]))
    return Fleet(folder)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return make(tmp_path)


class Alone(NamedTuple):
    """A dry run and a run on hosts without a common fabric, and what they asked of the hub."""

    fleet: Fleet
    checked: Played
    left: list[Path]
    """The files on hosts after the dry run."""
    done: Played
    asked: list[str]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """Let `one` and `two` want the same model, `full` have no room, `refused` want a gated model, `bare` want none."""
    fleet = make(tmp_path_factory.mktemp("alone"))
    fleet.want(tiny(), "one", "two", layout="directory")
    fleet.want(large := tiny("acme/large"), "full")
    fleet.want(gated := tiny("acme/gated", gated="manual"), "refused")
    fleet.host("bare")
    fleet.unplugged = {*fleet.stores}
    fleet.reserved = {"full": 1 << 62}
    fleet.strip()
    with Hub(tiny(), large, gated) as hub:
        checked = fleet.apply(hub.url, "--check", "--diff")
        assert hub.requests == []
        left = [path for store in fleet.stores.values() for path in store.folder.rglob("*") if path.is_file()]
        return Alone(fleet, checked, left, fleet.apply(hub.url), hub.asked())


def large_from_hub(hub: Hub) -> int:
    """Count how often the large file left the hub."""
    return len([path for path in hub.asked(server="cdn") if path.endswith(LARGE)])


def test_the_first_host_downloads_and_the_others_take_from_it(fleet: Fleet) -> None:
    """A second run changes nothing, and a dry run finds a file that was changed."""
    commit = fleet.want(repository := tiny(), "one", "two", "three")
    fleet.strip()
    with Hub(repository) as hub:
        code, changed, said = fleet.apply(hub.url)
        assert code == 0, said
        assert large_from_hub(hub) == 1
        assert len(hub.asked()) == len(FILES) - 1  # nobody asks for an empty file
        assert min(changed.values()) > 0
        hub.requests.clear()
        code, changed, said = fleet.apply(hub.url)
        assert (code, set(changed.values())) == (0, {0}), said
        assert hub.requests == []
    for store in fleet.stores.values():
        assert store.snapshot(commit) == FILES
        assert not (store.folder / "share").exists()
    assert list(fleet.folder.glob("*.service")) == []
    log = (fleet.folder / "log").read_text().splitlines()
    [shared] = log
    assert f"--listen=127.0.0.2:{fleet.port}" in shared  # that of "one": the names are numbered as they sort
    assert "--property=RuntimeMaxSec=86400" in shared
    assert "--nft-optional" in shared
    rules = (fleet.stores["one"].folder / "root/run/sparkiac/doors.nft").read_text()
    assert re.findall(r"dport \{ (\d+) \} ip saddr (\S+) accept", rules) == [
        (str(fleet.port), "127.0.0.3"),
        (str(fleet.port), "127.0.0.4"),
    ]
    blob = fleet.stores["two"].repo() / "blobs" / sha256(SAFETENSORS)
    blob.write_bytes(b"X" + SAFETENSORS[1:])
    done = fleet.apply("http://127.0.0.1:9", "--check", "--diff")
    assert (done.code, done.changed) == (0, {"one": 0, "two": 1, "three": 0}), done.said
    assert "1 files: model-00001.safetensors" in done.sentence


def test_a_host_that_has_it_gives_it_whichever_comes_first(fleet: Fleet) -> None:
    """The new host is the first of the play; the hub cannot be reached at all."""
    commit = fleet.want(repository := tiny(), "old")
    with Hub(repository) as hub:
        fleet.fill("old", hub)
    fleet.want(repository, "new")
    code, _, said = fleet.apply("http://127.0.0.1:9")
    assert code == 0, said
    assert fleet.stores["new"].snapshot(commit) == FILES


def written(folder: Path) -> Path:
    """Write the files of a model that the user has trained."""
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def test_the_host_with_the_users_folder_gives_it_although_it_comes_last(fleet: Fleet) -> None:
    """No hub has it. A second run changes nothing; a file that was trained again stays what the lock pins."""
    commit = fleet.want(tiny(), "a-server", "trainer", layout="directory", owner="trainer")
    folder = written(fleet.folder / "out")
    fleet.strip()
    code, _, said = fleet.apply("http://127.0.0.1:9")
    assert code == 0, said
    (folder / LARGE).write_bytes(SAFETENSORS[1:])
    for store in fleet.stores.values():
        assert contents(store.path / "acme/tiny") == FILES
        assert (store.path / "acme/tiny").resolve().name == commit
    again = fleet.apply("http://127.0.0.1:9")
    assert (again.code, set(again.changed.values())) == (0, {0}), again.said


def test_a_file_that_changed_since_the_lock_is_named_and_nothing_is_staged(fleet: Fleet) -> None:
    fleet.want(tiny(), "a-server", "trainer", layout="directory", owner="trainer")
    place = written(fleet.folder / "out") / LARGE
    place.write_bytes(b"X" + SAFETENSORS[1:])
    done = fleet.apply("http://127.0.0.1:9")
    assert done.code == 2
    assert f"{place}, a file of acme/tiny@{tiny().head()}, has changed since it was locked" in done.sentence
    assert "sparkiac lock INVENTORY --own-models --upgrade MODEL" in done.sentence
    assert not (fleet.stores["trainer"].path / "acme/tiny").exists()


def test_without_the_host_that_has_the_folder_the_play_names_it(fleet: Fleet) -> None:
    fleet.want(tiny(), "a-server", "trainer", layout="directory", owner="trainer")
    written(fleet.folder / "out")
    done = fleet.apply("http://127.0.0.1:9", "--limit", "a-server")
    assert done.code == 2
    assert "comes from trainer: apply to that host, too" in done.sentence


def test_with_a_limit_the_hub_is_asked_and_no_other_host_is_touched(fleet: Fleet) -> None:
    commit = fleet.want(repository := tiny(), "one", "two")
    with Hub(repository) as hub:
        fleet.fill("one", hub)
        code, changed, said = fleet.apply(hub.url, "--limit", "two")
        assert (code, set(changed)) == (0, {"two"}), said
        assert large_from_hub(hub) == 2
    assert fleet.stores["two"].snapshot(commit) == FILES
    assert not (fleet.folder / "log").exists()


def test_when_the_first_host_fails_the_others_go_on_with_the_hub(fleet: Fleet) -> None:
    commit = fleet.want(repository := tiny(), "one", "two", "three")
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, status=404))
        code, _, said = fleet.apply(hub.url)
        assert code == 2
        assert "HTTP 404" in said
        assert large_from_hub(hub) == 3, said
    assert fleet.stores["two"].snapshot(commit) == fleet.stores["three"].snapshot(commit) == FILES
    assert not (fleet.folder / "log").exists()


def test_a_host_that_cannot_share_is_named_and_the_hub_gives_all(fleet: Fleet) -> None:
    commit = fleet.want(repository := tiny(), "one", "two")
    (fleet.folder / "bin/systemd-run").write_text("#!/bin/sh\nexit 1\n")
    with Hub(repository) as hub:
        code, _, said = fleet.apply(hub.url)
        assert code == 0, said
        assert large_from_hub(hub) == 2
    assert "downloaded from the hub instead:" in said
    assert "Connection refused" in said
    assert fleet.stores["two"].snapshot(commit) == FILES


def test_each_model_has_a_first_host_of_its_own(fleet: Fleet) -> None:
    """The second host downloads what the first does not want, at the same time, and then both give."""
    fleet.want(first := tiny("acme/first"), "one", "two")
    fleet.want(second := tiny("acme/second"), "two", "three")
    with Hub(first, second) as hub:
        code, _, said = fleet.apply(hub.url)
        assert code == 0, said
        large = [path for path in hub.asked() if path.endswith(LARGE)]
        assert len(large) == len(set(large)) == 2
    assert all(
        store.verify("--manifests", str(store.folder / "root/etc/sparkiac")).code == 0
        for store in fleet.stores.values()
    )


def test_the_tokens_are_shown_nowhere(fleet: Fleet) -> None:
    """At the greatest verbosity too; the hub's token is a file on the host."""
    fleet.token = "hf"  # noqa: S105  the name of a secret
    fleet.want(repository := tiny(gated="manual"), "one", "two")
    for name in ("one", "two"):
        (fleet.folder / name / "secrets").mkdir()
        (fleet.folder / name / "secrets/hf").write_text(TOKEN)
    with Hub(repository, tokens={TOKEN: ["acme/tiny"]}) as hub:
        code, _, said = fleet.apply(hub.url, "-vvv", "--diff")
        assert code == 0, said[-3000:]
        assert large_from_hub(hub) == 1
    assert TOKEN not in said
    assert re.findall(r"\b[0-9A-Za-z]{43}\b", said) == []
    assert TOKEN not in (fleet.folder / "log").read_text()


def test_a_dry_run_tells_what_would_come_and_writes_nothing(alone: Alone) -> None:
    size, store = sum(map(len, FILES.values())), alone.fleet.stores["one"].path
    assert f"would download {size} bytes of acme/tiny@{tiny().head()} into {store}, 5" in alone.checked.said
    assert alone.left == []


def test_hosts_without_a_common_fabric_both_ask_the_hub(alone: Alone) -> None:
    assert len([path for path in alone.asked if path.endswith(LARGE) and "acme/tiny" in path]) == 2
    assert all(contents(alone.fleet.stores[name].path / "acme/tiny") == FILES for name in ("one", "two"))


@pytest.mark.parametrize("run", ["checked", "done"])
def test_no_room_stops_a_host_before_anything_is_fetched(alone: Alone, run: str) -> None:
    done: Played = getattr(alone, run)
    assert "[full]: FAILED!" in done.said
    assert "GiB must stay free" in done.sentence
    assert not [path for path in alone.asked if "acme/large" in path]


def test_a_hub_that_refuses_ends_the_play_of_the_host_with_its_sentence(alone: Alone) -> None:
    assert "[refused]: FAILED!" in alone.done.said
    assert "acme/gated is gated, and no token was sent; accept its terms on" in alone.done.sentence


def test_a_host_without_stores_has_nothing_to_do(alone: Alone) -> None:
    assert "[bare]: FAILED!" not in alone.done.said
    assert alone.done.changed["bare"] == 0
