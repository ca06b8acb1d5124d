"""Many images in one run."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from sparkiac.model.lock import LockedImage
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import Client, Wanted, several
from tests.upstream.registry import content
from tests.upstream.registry.servers import Reply, Request, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.upstream.registry.servers import Server


def test_all_that_fails_is_reported_together_in_the_order_asked(serve: Callable[..., Server], client: Client) -> None:
    shelf = Shelf()
    shelf.put("acme/good", "1", content.image())
    shelf.put("acme/amd", "1", content.image("amd64"))
    shelf.replies["/v2/acme/closed/manifests/1"] = [Reply(403)]
    host = serve(shelf).host
    names = ["nothing", "good", "closed", "amd", "good"]
    found = several([Wanted(f"{host}/acme/{name}:1") for name in names], client=client, progress=lambda *_: None)
    assert [each.reference.split("/")[-1] for each in found] == ["nothing:1", "good:1", "closed:1", "amd:1"]
    codes = [each.code if isinstance(each, Refusal) else type(each) for each in found.values()]
    assert codes == ["LCK001", LockedImage, "LCK003", "LCK002"]


def test_no_more_than_eight_are_asked_at_once(serve: Callable[..., Server], client: Client) -> None:
    """Every answer waits until eight questions are there: with fewer at once the test would not end by itself."""
    shelf = Shelf()
    made = [content.image(mark=str(number)) for number in range(16)]
    for number, each in enumerate(made):
        shelf.put(f"acme/image{number}", "1", each)
    together, lock = threading.Barrier(8, timeout=300), threading.Lock()
    now, most = 0, 0

    def answer(request: Request) -> Reply | None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if "/manifests/1" in request.path:
            together.wait()
        with lock:
            now -= 1
        return shelf(request)

    host = serve(answer).host
    found = several([Wanted(f"{host}/acme/image{n}:1") for n in range(16)], client=client, progress=lambda *_: None)
    assert [each.digest for each in found.values()] == [each.manifest.digest for each in made]
    assert most == 8


def test_nothing_is_asked_for_nothing(client: Client) -> None:
    assert several([], client=client, progress=lambda *_: None) == {}


def test_the_architecture_and_the_mirror_are_each_images_own(serve: Callable[..., Server], client: Client) -> None:
    shelf = Shelf()
    made = content.multi()
    shelf.put("hub/vllm", "1", made.attestation, made.amd, made.arm, made.index)
    source = f"{serve(shelf).host}/hub/vllm:1"
    wanted = [Wanted("vllm:1", source), Wanted("vllm:1", source, "amd64")]
    found = several(wanted, client=client, progress=lambda *_: None)
    assert [each.manifest for each in found.values()] == [made.arm.manifest.digest, made.amd.manifest.digest]


def test_an_interrupt_ends_the_run(serve: Callable[..., Server], client: Client) -> None:
    shelf = Shelf()
    shelf.put("acme/good", "1", content.image())
    host = serve(shelf).host

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        several([Wanted(f"{host}/acme/good:{number}") for number in range(50)], client=client, progress=interrupted)


def test_a_program_that_ends_waits_for_no_registry(serve: Callable[..., Server]) -> None:
    """The registry hangs until this test is over: the program would too if it waited."""
    host = serve(lambda _: None).host
    wanted = [f"{host}/acme/vllm:{number}" for number in range(20)]
    program = (
        "import threading; from sparkiac.upstream.registry import *\n"
        "client = Client(Credentials({}), patience=Patience(600, 600, 600))\n"
        f"wanted = [Wanted(each) for each in {wanted!r}]\n"
        "work = lambda: several(wanted, client=client, progress=print)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_fault_of_our_own_is_not_taken_for_a_refusal(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "manifest", None)
    with pytest.raises(TypeError):
        several([Wanted("nginx")], client=client, progress=lambda *_: None)
