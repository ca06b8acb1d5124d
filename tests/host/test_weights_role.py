"""The role `weights`, run by Ansible for three hosts that are all this machine: each model leaves the hub once."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkiac.render import playbooks
from tests.host import programs
from tests.host.conftest import SCRIPTS
from tests.host.plays import Played, play
from tests.host.staging import FILES, NFT, SAFETENSORS, SYSTEMCTL, SYSTEMD_RUN, Store, free_port, tiny, write_stubs
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

    def want(self, repository: Repository, *hosts: str, layout: str = "hub") -> str:
        """Require a model on hosts."""
        (self.folder / "models").mkdir(exist_ok=True)
        for name in hosts:
            commit = self.host(name).want(repository, layout=layout)
            slug = repository.handle.replace("/", "--")
            shutil.move(self.stores[name].manifests / f"{slug}.json", self.folder / "models" / f"{slug}.json")
            self.stores[name].wanted[-1]["manifest"] = f"models/{slug}.json"
        return commit

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
            "weights_reserve_bytes": 0,
        }

    def apply(self, endpoint: str, *words: str) -> Played:
        """Run the roles on all hosts; give the exit code, the changed tasks by host, and what was said."""
        hosts = {name: self.variables(name, endpoint) for name in sorted(self.stores)}
        (self.folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        return play(self.folder, *words, playbook="playbooks/play.yml", inventory="inventory.yml")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    for name in ("bin", "playbooks"):
        (tmp_path / name).mkdir()
    write_stubs(tmp_path / "bin", {"systemd-run": SYSTEMD_RUN, "systemctl": SYSTEMCTL, "nft": NFT})
    (tmp_path / "playbooks/roles").mkdir()
    for name in ("roles/stage", "roles/weights", "vars", "bundle.py"):
        (tmp_path / "playbooks" / name).symlink_to(ROOT / "playbooks" / name)
    programs.write(tmp_path / "playbooks/roles/programs/files")
    roles = [{"role": "stage", "when": False}, {"role": "weights"}]
    written = {"hosts": "all", "gather_facts": False, "vars_files": ["vars/main.yml"], "roles": roles}
    (tmp_path / "playbooks/play.yml").write_text(yaml.safe_dump([written]))
    return Fleet(tmp_path)


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


def test_a_dry_run_tells_what_would_come_and_writes_nothing(fleet: Fleet) -> None:
    fleet.want(repository := tiny(), "one", "two")
    fleet.strip()
    with Hub(repository) as hub:
        before = sorted(fleet.folder.rglob("*"))
        code, _, said = fleet.apply(hub.url, "--check", "--diff")
        assert code == 0, said
        size = sum(map(len, FILES.values()))
        assert (
            f"would download {size} bytes of acme/tiny@{repository.head()} into {fleet.stores['one'].path}, 5" in said
        )
        assert [path for path in fleet.stores["one"].folder.rglob("*") if path not in before] == []
        assert hub.requests == []


def test_a_host_that_has_it_gives_it_whichever_comes_first(fleet: Fleet) -> None:
    """The new host is the first of the play; the hub cannot be reached at all."""
    commit = fleet.want(repository := tiny(), "old")
    with Hub(repository) as hub:
        assert fleet.apply(hub.url)[0] == 0
    fleet.want(repository, "new")
    code, _, said = fleet.apply("http://127.0.0.1:9")
    assert code == 0, said
    assert fleet.stores["new"].snapshot(commit) == FILES


def test_with_a_limit_the_hub_is_asked_and_no_other_host_is_touched(fleet: Fleet) -> None:
    commit = fleet.want(repository := tiny(), "one", "two")
    with Hub(repository) as hub:
        assert fleet.apply(hub.url, "--limit", "one")[0] == 0
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


def test_hosts_without_a_common_fabric_both_ask_the_hub(fleet: Fleet) -> None:
    fleet.want(repository := tiny(), "one", "two", layout="directory")
    fleet.unplugged = {"two"}
    with Hub(repository) as hub:
        assert fleet.apply(hub.url)[0] == 0
        assert large_from_hub(hub) == 2


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


def test_no_room_stops_a_host_before_anything_is_fetched(fleet: Fleet) -> None:
    fleet.want(repository := tiny(), "one")
    with Hub(repository) as hub:
        for words in (["--check"], []):
            code, _, said = fleet.apply(hub.url, "-e", json.dumps({"weights_reserve_bytes": 1 << 62}), *words)
            assert code == 2
            assert "GiB must stay free" in re.sub(r"\s+", " ", said)
        assert hub.requests == []


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


def test_a_hub_that_refuses_ends_the_play_with_its_sentence(fleet: Fleet) -> None:
    fleet.want(repository := tiny(gated="manual"), "one")
    with Hub(repository) as hub:
        code, _, said = fleet.apply(hub.url)
    assert code == 2
    assert "acme/tiny is gated, and no token was sent; accept its terms on" in re.sub(r"\s+", " ", said)


def test_a_host_without_stores_has_nothing_to_do(fleet: Fleet) -> None:
    fleet.host("one")
    code, _, said = fleet.apply("http://127.0.0.1:9")
    assert code == 0, said
    assert fleet.apply("http://127.0.0.1:9")[1] == {"one": 0}
