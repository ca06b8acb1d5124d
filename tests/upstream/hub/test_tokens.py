"""Who hears the token, and that nobody repeats it."""

from __future__ import annotations

import logging
import traceback

import pytest

from sparkiac import __version__
from sparkiac.upstream.hub.client import HubClient as Client
from sparkiac.upstream.transport import HttpRequest
from tests.standin.hub import Fault, Hub
from tests.upstream.hub.tiny import HANDLE, TOKEN, client, refused, resolve, tiny


def test_the_hub_hears_the_token_and_the_content_network_does_not() -> None:
    with Hub(tiny(gated="auto"), tokens={TOKEN: [HANDLE]}) as hub:
        resolve(HANDLE, hub=client(hub, token=TOKEN))

        assert {each.headers.get("authorization") for each in hub.requests if each.server == "hub"} == {
            f"Bearer {TOKEN}"
        }
        assert [each.headers.get("authorization") for each in hub.requests if each.server == "cdn"] == [None, None]


def test_another_host_that_the_hub_points_to_does_not_hear_it() -> None:
    with Hub(tiny(), tokens={TOKEN: [HANDLE]}) as hub, Hub(tiny()) as other:
        away = (("Location", f"{other.url}/api/models/acme/tiny/revision/main?blobs=true"),)
        hub.fail(Fault("/revision/main", status=307, headers=away))
        resolve(HANDLE, hub=client(hub, token=TOKEN))

        assert [each.headers.get("authorization") for each in other.requests] == [None]


def test_a_token_of_this_machine_is_not_used_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_process")
    with Hub(tiny()) as hub:
        resolve(HANDLE, hub=client(hub))

        assert not any("authorization" in each.headers for each in hub.requests)


def test_the_user_agent_names_only_sparkiac() -> None:
    with Hub(tiny()) as hub:
        resolve(HANDLE, hub=client(hub))
        agents = {each.headers["user-agent"] for each in hub.requests}

    assert agents == {f"sparkiac/{__version__}"}


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_no_log_and_no_message_repeats_it(
    status: int, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with Hub(tiny(), tokens={TOKEN: []}) as hub:
        hub.fail(Fault("/config.json", status=status, headers=(("X-HF-Warning", "a; b"),), times=9))
        caught = refused(lambda: resolve(HANDLE, hub=client(hub, token=TOKEN)))

    words = "".join(traceback.format_exception(caught)) + repr(caught) + caught.hint
    assert TOKEN not in words + caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_error_messages_do_not_contain_the_token(status: int) -> None:
    with Hub(tiny(), tokens={TOKEN: []}) as hub:
        hub.fail(Fault("/config.json", status=status, headers=(("X-Error-Message", f"not {TOKEN}"),), times=9))
        caught = refused(lambda: resolve(HANDLE, hub=client(hub, token=TOKEN)))

    assert TOKEN not in "".join(traceback.format_exception(caught)) + caught.hint


def test_no_repr_contains_the_token() -> None:
    assert repr(Client("http://hub.lab", TOKEN)) == "HubClient('http://hub.lab')"
    assert TOKEN not in repr(HttpRequest("http://hub.lab", HANDLE, 1, {"Authorization": f"Bearer {TOKEN}"}))
