"""Work as long as anything of it goes on."""

from traced_loop.loop.running_work import RunningWork


def test_it_is_over_when_its_last_part_has_ended() -> None:
    """Whoever asked is told once, with what the last part raised."""
    work, told, error = RunningWork(), list[BaseException | None](), ValueError("no")
    work.when_over(told.append)
    work.begin()
    work.begin()
    work.end(None)
    assert (work.over, told) == (False, [])

    work.end(error)

    assert (work.over, told) == (True, [error])


def test_whoever_asks_late_is_told_at_once() -> None:
    """The end does not come twice."""
    work, told = RunningWork(), list[BaseException | None]()
    work.begin()
    work.end(None)

    work.when_over(told.append)

    assert told == [None]


def test_what_never_began_is_not_over() -> None:
    """It may still begin."""
    assert not RunningWork().over


def test_what_the_last_part_gave_is_kept() -> None:
    """For whoever comes late."""
    work, seen = RunningWork(), list[object]()
    work.when_over(lambda _: seen.append(work.value))
    work.begin()
    work.begin()
    work.end(ValueError("no"))
    work.end(None, "done")

    assert seen == ["done"]
