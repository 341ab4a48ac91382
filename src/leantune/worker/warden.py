"""The script that a worker starts for each run: `python -I -S .../leantune/worker/warden.py`, orders on its stdin.

It only finds the package (from a checkout or an installed wheel alike) and hands over to `supervision`, which Python
keeps compiled; a script is compiled at every start.
"""

import os
import sys


def main() -> None:
    """Find the package that this file lies in, and supervise one run."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib takes 5 ms
    sys.path.append(os.path.dirname(package))  # noqa: PTH120 - the last place to look: nothing can stand in for json
    from leantune.worker.supervision import main as supervise

    supervise()


if __name__ == "__main__":
    main()
