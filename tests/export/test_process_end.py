"""Ways out that end with the process."""

from traced_loop.export.process_end import close_all


def test_an_end_imports_before_it_counts_its_seconds() -> None:
    """Of all ways out, before the first is closed."""
    told: list[str] = []

    class Way:
        def load(self) -> None:
            told.append("load")

        def stop(self) -> None:
            told.append("stop")

        def close(self, seconds: float = 0.0) -> bool:
            told.append("close")
            return True

    assert close_all([Way(), Way()], 1.0)
    assert told == ["load", "load", "stop", "stop", "close", "close"]
