"""A Docker engine of the tests' own, which pulls nothing: its images are made here, of programs of this machine."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .child_process import poll, running
from .jaeger import DEPLOY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .child_process import ChildProcess

BUSYBOX = Path("/bin/busybox")
APPLETS = ("cat", "chown", "httpd", "ls", "mkdir", "sh", "touch", "wget")
READY_WITHIN = 60.0
WITHIN = 240.0
HOW_TO_GET_IT = "run `bash .ci/run setup` as root on a Debian"


class EngineMissingError(Exception):
    """This machine has no Docker engine that a test could start."""


@dataclass(frozen=True)
class Folder:
    """An empty folder of an image."""

    owner: int = 0
    mode: int = 0o755


@dataclass(frozen=True)
class Link:
    """A symbolic link of an image."""

    target: str


Content = Path | str | Folder | Link
"""A file of an image: one of this machine, or a text."""

SHELL: dict[str, Content] = {"bin/busybox": BUSYBOX, **{f"bin/{applet}": Link("busybox") for applet in APPLETS}}
"""A shell and what one needs in it."""


@dataclass(frozen=True)
class Engine:
    """A running engine."""

    socket: Path

    def docker(self, *arguments: str, **options: Any) -> str:
        """Run the client; CalledProcessError when it fails."""
        return self._output(["docker", *arguments], {}, **options)

    def compose(self, project: str, *arguments: str, variables: Mapping[str, str]) -> str:
        """Run Compose, of either generation, on the shipped file."""
        command = [*compose_command(), "--project-name", project, "--file", str(DEPLOY / "compose.yaml")]
        return self._output([*command, *arguments], variables)

    def inspect(self, container: str) -> dict[str, Any]:
        """Everything that the engine knows of a container."""
        [known] = json.loads(self.docker("inspect", container))
        return dict(known)

    def containers(self, project: str) -> dict[str, dict[str, Any]]:
        """The containers of a project by the name of their service, those that have ended too."""
        label = f"label=com.docker.compose.project={project}"
        ids = self.docker("ps", "--all", "--quiet", "--filter", label).split()
        found = [self.inspect(container) for container in ids]
        return {known["Config"]["Labels"]["com.docker.compose.service"]: known for known in found}

    def volumes(self, project: str) -> set[str]:
        """The names of a project's volumes, without the project's own."""
        label = f"label=com.docker.compose.project={project}"
        listed = self.docker("volume", "ls", "--quiet", "--filter", label).split()
        return {name.removeprefix(f"{project}_") for name in listed}

    def make_image(self, name: str, files: Mapping[str, Content], changes: Sequence[str]) -> None:
        """Make an image of one layer, with /tmp for everybody.

        Args:
            name: with the tag.
            files: what is in it by its path.
            changes: lines of a Dockerfile: ENTRYPOINT, ENV, USER.
        """
        options = [part for change in changes for part in ("--change", change)]
        with tempfile.TemporaryFile() as archive:
            _write_layer(archive, {"tmp": Folder(mode=0o1777), **files})
            archive.seek(0)
            self.docker("import", *options, "-", name, stdin=archive)

    def _output(self, command: Sequence[str], variables: Mapping[str, str], **options: Any) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.socket.parent),
            "DOCKER_HOST": f"unix://{self.socket}",
            **variables,
        }
        ended: subprocess.CompletedProcess[str] = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=WITHIN, **options
        )
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout


def compose_command() -> list[str]:
    """Return how this machine calls Compose: a plugin of the client, or a program of its own."""
    with suppress(FileNotFoundError):
        plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False, timeout=30)
        if plugin.returncode == 0:
            return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise EngineMissingError(f"neither `docker compose` nor docker-compose: {HOW_TO_GET_IT}")


@contextmanager
def running_engine() -> Iterator[Engine]:
    """Run an engine with its own data and socket for the time of the block; it changes no firewall and no bridge."""
    _check_requirements()
    with tempfile.TemporaryDirectory(prefix="tl-docker-") as name:
        folder = Path(name)
        socket = folder / "socket"
        places = [f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid"]
        network = ["--bridge=none", "--iptables=false", "--ip6tables=false"]
        with running(["dockerd", "-H", f"unix://{socket}", *places, *network], folder / "log") as child:
            engine = Engine(socket)
            try:
                _wait_until_ready(engine, child)
                yield engine
            finally:
                child.stop(within=60)
                _end_containerd(folder)
                _unmount_below(folder)


def _check_requirements() -> None:
    if os.geteuid() != 0:
        raise EngineMissingError(f"only root can start a Docker engine: {HOW_TO_GET_IT}")
    missing = [program for program in ("dockerd", "docker", "iptables") if shutil.which(program) is None]
    if not BUSYBOX.exists():
        missing.append(str(BUSYBOX))
    if missing:
        raise EngineMissingError(f"no {', '.join(missing)}: {HOW_TO_GET_IT}")
    compose_command()


def _wait_until_ready(engine: Engine, child: ChildProcess) -> None:
    def look() -> bool:
        if child.process.poll() is not None:
            raise EngineMissingError(f"the Docker engine does not start here: {child.output()[-1500:]}")
        with suppress(AssertionError):
            return bool(engine.docker("version"))
        return False

    poll(look, within=READY_WITHIN, otherwise=lambda: child.output()[-1500:])


def _end_containerd(folder: Path) -> None:
    """End what dockerd started and could not end itself, by the id that it wrote down."""
    with suppress(FileNotFoundError, ValueError, ProcessLookupError):
        os.kill(int((folder / "exec" / "containerd" / "containerd.pid").read_text()), signal.SIGTERM)


def _unmount_below(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((mount for mount in mounts if mount.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False, timeout=30)


def _write_layer(archive: IO[bytes], files: Mapping[str, Content]) -> None:
    with tarfile.open(fileobj=archive, mode="w") as layer:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.mode = 0o755
            match content:
                case Folder():
                    member.type, member.mode, member.uid = tarfile.DIRTYPE, content.mode, content.owner
                    layer.addfile(member)
                case Link():
                    member.type, member.linkname = tarfile.SYMTYPE, content.target
                    layer.addfile(member)
                case _:
                    data = content.encode() if isinstance(content, str) else content.read_bytes()
                    member.size = len(data)
                    layer.addfile(member, io.BytesIO(data))
