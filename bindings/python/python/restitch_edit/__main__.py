"""`python -m restitch_edit`: the `restitch` command of this installation."""

import os
import subprocess
import sys
import sysconfig


def command() -> str | None:
    """The path of the command that the wheel has installed, or `None` if there is none."""
    name = "restitch.exe" if os.name == "nt" else "restitch"
    schemes = [sysconfig.get_path("scripts")]
    schemes.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    for folder in schemes:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


def main() -> int:
    path = command()
    if path is None:
        print(
            "restitch_edit: this installation was built without the command; "
            "install a wheel, or `cargo install restitch`",
            file=sys.stderr,
        )
        return 3
    arguments = [path, *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.run(arguments, check=False).returncode
    os.execv(path, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
