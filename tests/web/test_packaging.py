"""What is published: the page's files are in it, its libraries come with the extra, and without them that is said."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import traced_loop

from ..command_line import WITHIN
from .raw_requests import entered, request
from .running_page import LINK

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

ROOT = Path(traced_loop.__file__).parent.parent
UV = shutil.which("uv")
FILES = [path for folder in ("templates", "words", "static") for path in (ROOT / "traced_loop/web" / folder).iterdir()]


def uv(*arguments: str | Path) -> str:
    """Run uv."""
    assert UV is not None
    ended = subprocess.run([UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the wheel and the source distribution."""
    if UV is None:
        pytest.skip("no uv on the PATH: pip install uv")
    folder = tmp_path_factory.mktemp("built")
    uv("build", "--quiet", "--out-dir", folder, ROOT)
    yield folder
    shutil.rmtree(folder)


def test_the_files_of_the_page_are_published(built: Path) -> None:
    """Templates, words, scripts and styles, in both forms."""
    wanted = {str(path.relative_to(ROOT)) for path in FILES}
    assert len(wanted) > 10
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        assert wanted <= set(wheel.namelist())
    with tarfile.open(next(built.glob("*.tar.gz"))) as source:
        assert wanted <= {name.partition("/")[2] for name in source.getnames()}


def test_without_the_extra_it_is_named_and_with_it_the_page_is_served(built: Path, tmp_path: Path) -> None:
    """In a fresh environment, away from the clone."""
    constraints, environment = tmp_path / "constraints.txt", tmp_path / "venv"
    constraints.write_text(uv("export", "--quiet", "--frozen", "--no-hashes", "--no-emit-project"))
    uv("venv", "--quiet", "--no-project", "--python", ROOT / ".venv/bin/python", environment)
    install = ["pip", "install", "--quiet", "--python", environment / "bin/python", "--constraint", constraints]
    wheel, program = next(built.glob("*.whl")), environment / "bin/traced-loop"
    command = [program, "web", "--no-open", "--port", "0", "--store", tmp_path / "store"]

    uv(*install, wheel)
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=WITHIN)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "pip install 'traced-loop[web]'" in ended.stderr

    uv(*install, f"traced-loop[web] @ {wheel.as_uri()}")
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            assert LINK.fullmatch(link)
            address = link.partition("/?")[0]
            assert b"traced-loop demo" in request(address, headers={"cookie": entered(link)}).body
            assert request(address, target="/static/page.css").status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(WITHIN) == 0
        finally:
            process.kill()
