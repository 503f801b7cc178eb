"""The first thing in every Python that has this folder on PYTHONPATH: one that is to be hcloud asks the loaded process
to be it (``benchmarks.loaded``), hands over signals and ends as that one ends. Imports only what is built in, so that
it takes less than Python's own start."""

import sys

ASKING = "HCLOUD_LOADED"
"""The variable that names the socket."""
OURS = ("hcloud", "hcloud.usecases.live.operating.agents", "benchmarks.forking")

USUAL = ("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""Whatever else is said to Python is heard only as it starts."""


def hand_over() -> None:
    """Be hcloud by way of the loaded process; returns where this process has to be it itself."""
    import _signal  # type: ignore[import-not-found]
    import _socket
    import marshal
    import os
    import resource

    own = any(name.startswith("PYTHON") and name not in USUAL for name in os.environ)
    if own or resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return  # asks for another Python, or for less memory
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        door.connect(os.environ[ASKING])
    except (KeyError, OSError):
        return
    heard = [n for n in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP) if _signal.getsignal(n) != _signal.SIG_IGN]

    def pass_on(number: int, _: object) -> None:
        try:
            door.send(marshal.dumps(int(number)))
        except OSError:  # it ended just now
            return

    for number in heard:
        _signal.signal(number, pass_on)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)
    asked = (words(), os.getcwd(), dict(os.environ), [int(n) for n in heard], os.umask(0o077), largest)  # noqa: PTH109
    streams = b"".join(n.to_bytes(4, sys.byteorder) for n in (0, 1, 2))
    door.sendmsg([marshal.dumps(asked)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    for number in (0, 1, 2):
        os.close(number)  # so that only the other has them
    said = door.recv(64)
    code = marshal.loads(said) if said else 70
    if code < 0:
        _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def words() -> list[str]:
    """The module and its arguments."""
    return sys.orig_argv[sys.orig_argv.index("-m") + 1 :]


if "-m" in sys.orig_argv[1:3] and words()[:1] and words()[0] in OURS:
    hand_over()
