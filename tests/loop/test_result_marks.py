"""What a trace can compare of a result or an error, and nothing else of it."""

from typing import Any

import pytest

from traced_loop import InvalidArguments, ToolError, tool
from traced_loop.rules.normalised_result import MAX_CHARACTERS
from traced_loop.testing import calls, play

RESULT = ("fingerprint", "normalized_fingerprint", "masked_fingerprint", "trend")


def results(values: list[Any]) -> list[dict[str, Any]]:
    """The attributes of one call that gives these one after the other."""
    left = iter(values)

    @tool(effect="read", max_result_bytes=256)
    def look() -> Any:
        """Look."""
        return next(left)

    played = play([*(calls(("look", {})) for _ in values), "done"], [look], repetition="observe")
    return [dict(span.attributes) for span in played.spans.named("execute_tool")]


def of(found: list[dict[str, Any]], key: str) -> list[Any]:
    """One attribute of each, fingerprints as numbers in the order in which they appear."""
    values = [one.get(f"traced_loop.{key}") for one in found]
    known = list(dict.fromkeys(values))
    return [known.index(v) if isinstance(v, str) and len(v) == 16 else v for v in values]


def test_a_result_that_says_the_same_at_another_time_is_equal_once_normalised() -> None:
    """Not before; what says something else is not."""
    found = results([f"{state} at 2026-11-30T02:46:0{n}Z" for n, state in enumerate(["open", "open", "closed"])])
    assert of(found, "result.fingerprint") == [0, 1, 2]
    assert of(found, "result.normalized_fingerprint") == [0, 0, 1]
    assert of(found, "result.masked_fingerprint") == of(found, "result.trend") == [None, None, None]


def test_results_that_differ_in_numbers_alone_say_how_these_moved() -> None:
    """By a word; the numbers are on no span."""
    found = results(
        [{"percent": 4711 + n, "state": "running"} for n in (0, 1, 1, 0)] + [{"percent": 1, "state": "done"}]
    )
    assert of(found, "result.masked_fingerprint") == [0, 0, 0, 0, 1]
    assert of(found, "result.normalized_fingerprint") == [0, 1, 1, 0, 2]
    assert of(found, "result.trend") == [None, "up", "same", "mixed", None]
    assert "4711" not in str(found)


def test_size_and_length_stand_beside() -> None:
    """Whether an answer is a long one is told of what was given, not of what the model was told."""
    found = results(["\u00e9" * 198, "\u00e9" * 500, "x" * (MAX_CHARACTERS + 1)])
    assert of(found, "result.characters") == [200, 502, MAX_CHARACTERS + 3]
    assert of(found, "result.bytes") == [398, 1002, MAX_CHARACTERS + 3]
    assert of(found, "result.truncated") == [True, True, True]
    assert of(found, "result.normalized_partly") == [None, None, True]


def errors(raised: list[BaseException], effect: Any = "read") -> list[dict[str, Any]]:
    """The attributes of one call that raises these one after the other."""
    left = iter(raised)

    @tool(effect=effect)
    def fail() -> None:
        """Fail."""
        raise next(left)

    played = play([*(calls(("fail", {})) for _ in raised), "done"], [fail], repetition="observe")
    return [dict(span.attributes) for span in played.spans.named("execute_tool")]


def test_the_same_error_at_another_time_is_equal() -> None:
    """Of the same type with the same words; the signature is equal for other arguments too."""
    found = errors(
        [
            ValueError("no 'a' at 02:46:09, <object at 0x7f8a1c2b3d40>"),
            ValueError("no 'a' at 02:47:00, <object at 0x7f8a1c2b3d99>"),
            ValueError("no 'b' at 02:47:00, <object at 0x7f8a1c2b3d99>"),
            KeyError("no 'a' at 02:46:09, <object at 0x7f8a1c2b3d40>"),
        ]
    )
    assert of(found, "error.fingerprint") == [0, 0, 1, 2]
    assert of(found, "error.masked_fingerprint") == [0, 0, 0, 1]
    assert of(found, "error.class") == ["deterministic"] * 4


@pytest.mark.parametrize("kind", [ToolError, InvalidArguments])
def test_what_a_tool_says_itself_compares_too(kind: type[ToolError]) -> None:
    """A refusal of arguments is no error, and can be made again all the same."""
    found = errors([kind("Ask for less than 10."), kind("Ask for less than 10."), kind("Ask for less than 20.")])
    assert of(found, "error.fingerprint") == [0, 0, 1]
    assert of(found, "error.masked_fingerprint") == [0, 0, 0]


def test_a_value_that_hides_its_kind_is_a_result_all_the_same() -> None:
    """The model is told of it; what can be compared is its text."""

    class Hostile(dict[str, int]):
        def values(self) -> Any:
            raise RuntimeError

    found = results([Hostile(a=1)])
    assert found[0]["traced_loop.call.outcome"] == "ok"
    assert "traced_loop.result.fingerprint" in found[0]
