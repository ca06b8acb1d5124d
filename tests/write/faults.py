"""Make the n-th call that could fail on a full or broken disk fail, or kill the process there."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sparkiac.write import staging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRITING = ("mkdir", "write", "link", "symlink", "rename", "chmod", "fchmod", "utime")
DELETING = ("unlink", "rmdir")
READING = ("scandir",)


@contextmanager
def calls(*names: str, before: Callable[[str], None]) -> Iterator[None]:
    """Run `before` at each call of these functions of `os`, of opening, and of the exchange."""
    former: dict[str, Any] = {name: getattr(os, name) for name in (*names, "open")}
    former_exchange = staging.exchange

    def watch(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the real one
            before(name)
            return former[name](*args, **options)

        return call

    def watched_exchange(*args: Any) -> int:  # noqa: ANN401
        try:
            before("exchange")
        except OSError as error:
            return error.errno or 0
        return former_exchange(*args)

    try:
        for name in former:
            setattr(os, name, watch(name))
        staging.exchange = watched_exchange
        yield
    finally:
        for name, function in former.items():
            setattr(os, name, function)
        staging.exchange = former_exchange


def failing(nth: int, *, code: int, lasting: bool) -> Callable[[str], None]:
    """Fail the n-th call, and all after it if the trouble is lasting."""
    count = 0

    def before(name: str) -> None:
        nonlocal count
        count += 1
        if count == nth or (lasting and count > nth):
            raise OSError(code, os.strerror(code), name)

    return before


def unsupported(*_: object) -> int:
    """Stand in for `staging.exchange` on a file system that cannot."""
    return errno.EINVAL
