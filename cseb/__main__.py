"""`python -m cseb` is `cseb`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from types import FrameType

from platformdirs import user_cache_path


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. A kind of its own for the reason that `cseb.launchers.signals.Stop` gives; that one is slow to load."""


def main() -> None:
    """Entry point of the `cseb` script: Ctrl-C is quiet from the first moment, even while modules are loaded."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where the shell has us ignore it
            signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _send_again
        _set_compiler_folder()
        from cseb.commands.application import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)  # as the commands end
    finally:
        gc.freeze()  # nothing is looked through for garbage that the end of the process frees anyway


def _set_compiler_folder() -> None:
    """Name the folder of compiled functions, which torch makes when it is loaded: in the temporary folder if unset."""
    folder = user_cache_path("cseb") / "torchinductor"
    if os.access(next(parent for parent in folder.parents if parent.exists()), os.W_OK):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


def _send_again(lost: sys.UnraisableHookArgs) -> None:
    """Send Ctrl-C again where Python drops exceptions, such as in a `__del__`; print other exceptions that it drops."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        again = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True  # sent to nothing that has ended by then
        again.start()
    else:
        sys.__unraisablehook__(lost)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise Interrupted


if __name__ == "__main__":
    main()
