"""The `restitch` command, which the native half contains."""

import signal
import sys

from restitch_edit import _native


def main() -> int:
    # Python's own handler would wait until the command has ended. One that is ignored stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main([sys.executable, "-m", "restitch_edit"], sys.argv)


if __name__ == "__main__":
    raise SystemExit(main())
