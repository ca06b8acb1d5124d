"""Many images in one run."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from sparkiac.model.lock import LockedImage
from sparkiac.upstream import parallel
from sparkiac.upstream.errors import UpstreamError, caught
from sparkiac.upstream.registry import images
from sparkiac.upstream.registry.client import RegistryClient
from sparkiac.upstream.registry.credentials import Credentials
from tests.upstream.registry import content
from tests.upstream.registry.servers import Reply, Request, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.upstream.registry.conftest import Home
    from tests.upstream.registry.servers import Server


def resolved(names: Iterable[str], client: RegistryClient) -> dict[str, LockedImage | UpstreamError]:
    """Resolve images in parallel."""
    return dict(parallel.each(names, caught(lambda name: images.resolve(name, client=client))))


def test_all_that_fails_is_reported_together(serve: Callable[..., Server], client: RegistryClient) -> None:
    shelf = Shelf()
    shelf.put("acme/good", "1", content.image())
    shelf.put("acme/amd", "1", content.image("amd64"))
    shelf.replies["/v2/acme/closed/manifests/1"] = [Reply(403)]
    host = serve(shelf).host
    found = resolved([f"{host}/acme/{name}:1" for name in ("nothing", "good", "closed", "amd")], client)
    codes = {
        each.split("/")[-1]: got.code if isinstance(got, UpstreamError) else type(got) for each, got in found.items()
    }
    assert codes == {"nothing:1": "LCK001", "good:1": LockedImage, "closed:1": "LCK003", "amd:1": "LCK002"}


def test_no_more_than_eight_are_asked_at_once(serve: Callable[..., Server], client: RegistryClient) -> None:
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
    found = resolved([f"{host}/acme/image{n}:1" for n in range(16)], client)
    assert {getattr(each, "digest", each) for each in found.values()} == {each.manifest.digest for each in made}
    assert most == 8


def test_no_image_needs_no_request(client: RegistryClient) -> None:
    assert resolved([], client) == {}


def test_the_architecture_and_the_mirror_are_each_images_own(
    serve: Callable[..., Server], client: RegistryClient
) -> None:
    shelf = Shelf()
    made = content.multi()
    shelf.put("hub/vllm", "1", made.attestation, made.amd, made.arm, made.index)
    source = f"{serve(shelf).host}/hub/vllm:1"
    found = [images.resolve("vllm:1", client=client, source=source, architecture=each) for each in ("arm64", "amd64")]
    assert [each.manifest for each in found] == [made.arm.manifest.digest, made.amd.manifest.digest]


def test_an_interrupt_ends_the_run(serve: Callable[..., Server], client: RegistryClient) -> None:
    shelf = Shelf()
    shelf.put("acme/good", "1", content.image())
    host = serve(shelf).host

    requests = parallel.each(
        range(50), caught(lambda number: images.resolve(f"{host}/acme/good:{number}", client=client))
    )
    next(requests)
    with pytest.raises(KeyboardInterrupt):
        requests.throw(KeyboardInterrupt)  # type: ignore[attr-defined]  it is a generator


def test_a_program_that_ends_waits_for_no_registry(serve: Callable[..., Server]) -> None:
    """The registry hangs until this test is over: the program would too if it waited."""
    host = serve(lambda _: None).host
    wanted = [f"{host}/acme/vllm:{number}" for number in range(20)]
    program = (
        "import threading\n"
        "from sparkiac.upstream import parallel\n"
        "from sparkiac.upstream.errors import caught\n"
        "from sparkiac.upstream.registry import client, credentials, images\n"
        "from sparkiac.upstream.transport import HttpTimeouts\n"
        "one = client.RegistryClient(credentials.Credentials({}), timeouts=HttpTimeouts(600, 600, 600))\n"
        f"work = lambda: list(parallel.each({wanted!r}, caught(lambda name: images.resolve(name, client=one))))\n"
        "threading.Thread(target=work, daemon=True).start()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_fault_of_our_own_is_not_taken_for_a_refusal(client: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RegistryClient, "manifest", None)
    with pytest.raises(TypeError):
        resolved(["nginx"], client)


def test_threads_that_wait_for_a_silent_server_count_its_tries_once(home: Home) -> None:
    """The last wait of the first request lasts until the second request has failed."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as reserved:
        host = f"127.0.0.1:{reserved.getsockname()[1]}"
    refusals: list[str] = []

    def fail(name: str) -> None:
        with pytest.raises(UpstreamError) as caught:
            images.resolve(f"{host}/acme/{name}:1", client=opened)
        refusals.append(str(caught.value))

    waits = iter([lambda: None, lambda: None, lambda: None, lambda: fail("second")])
    with RegistryClient(Credentials(home.environ), sleep=lambda _: next(waits, lambda: None)()) as opened:
        fail("first")
        fail("third")
    told = ": no connection: Connection refused (5 tries)"
    assert refusals == [f"{host}/acme/{name}:1: {host}{told}" for name in ("second", "first", "third")]
