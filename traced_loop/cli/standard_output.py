"""The stream that commands write to: what the system does not take is an error of the user's, whoever writes it."""

import io
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from traced_loop.errors import UsageError


def tell_what_cannot_be_written() -> None:
    """Put such a stream in the place of this process's stdout; not in that of one which somebody has put there."""
    given = sys.__stdout__
    if given is not None and given is sys.stdout:
        sys.stdout = _StandardOutput(
            given.buffer,
            encoding=given.encoding,
            errors=given.errors,
            line_buffering=given.line_buffering,
            write_through=given.write_through,
        )


class _StandardOutput(io.TextIOWrapper):
    """Raises UsageError for a full disk and the like, and BrokenPipeError for a reader that has gone away."""

    def write(self, text: str, /) -> int:
        with _told():
            return super().write(text)

    def writelines(self, lines: Iterable[str], /) -> None:  # type: ignore[override]  # of text
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with _told():
            super().flush()


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write the output: {error.strerror or error}") from error
