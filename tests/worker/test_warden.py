"""The script finds its package and nothing else gets in its way; what it then does is tested in test_supervision."""

import subprocess
import sys
from pathlib import Path

from leantune.worker import warden


def test_its_folder_cannot_stand_in_for_the_standard_library(tmp_path: Path) -> None:
    """The package is the last place to look: a json.py in site-packages is not Python's."""
    package = Path(warden.__file__).parents[1]
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    for path in [package / "__init__.py", *package.glob("worker/*.py")]:
        copy = tmp_path / "leantune" / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    script = tmp_path / "leantune" / "worker" / "warden.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", script],
        input=b"",
        capture_output=True,
        check=False,
        env={"PYTHONPATH": "/nowhere"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
