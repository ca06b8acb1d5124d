"""A Python that runs Ansible's modules on this machine, each in a fork of one process that has loaded what all need.

To start Python and to import that takes two thirds of the time of a task.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import marshal
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

CLIENT = """\
#!{python} -IS
import _socket, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.connect({address!r})
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
request = marshal.dumps((os.getcwd(), dict(os.environ), sys.argv[1:]))
server.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
os._exit(int(server.recv(3) or 1))
"""
"""What Ansible starts for each module; a module that is killed sends no exit code."""
LOADED = ("ansible.module_utils.basic", "ansible.modules", "base64", "zipfile")


@functools.cache
def interpreter() -> Path:
    """Start the process, which ends with this one, and return the program for `ansible_python_interpreter`."""
    folder = Path(tempfile.mkdtemp(prefix="ansible-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Modules of another Ansible need what that has.
    python = Path(os.environ.get("ANSIBLE_PLAYBOOK", sys.executable)).with_name("python")
    client, address = folder / "python", str(folder / "socket")
    client.write_text(CLIENT.format(python=python, address=address))
    client.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        number = listener.fileno()
        argv = [str(python), __file__, str(number)]
        server = subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=[number], start_new_session=True)
    atexit.register(server.communicate)
    return client


def serve(listener: socket.socket) -> None:
    """Run a module for each client, until the standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        with listener.accept()[0] as client:
            if os.fork() == 0:
                run(client)


def run(client: socket.socket) -> NoReturn:
    """Run the module that a client reads, with the client's files, folder and environment."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(client, 1 << 20, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    folder, environment, words = marshal.loads(request)  # noqa: S302 - of CLIENT
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = words or [""]
    code = 1
    try:
        if words:
            runpy.run_path(words[0], run_name="__main__")
        else:
            exec(sys.stdin.read(), {"__name__": "__main__"})  # noqa: S102 - the module that Ansible sent
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - as Python does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        client.send(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    for name in LOADED:
        importlib.import_module(name)
    serve(socket.socket(fileno=int(sys.argv[1])))
