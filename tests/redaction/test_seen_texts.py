"""What was searched already."""

import threading

from traced_loop.redaction.own_secrets import OwnSecrets
from traced_loop.redaction.seen_texts import MAX_KEPT_CHARACTERS, MAX_TEXTS, SeenTexts

OWN = OwnSecrets()


def test_a_text_is_known_once_it_was_searched() -> None:
    """With what became of it, and what was counted."""
    seen = SeenTexts()
    assert seen.get("a", OWN) is None
    seen.put("a", OWN, ("b", (("rule", 1),)))
    assert seen.get("a", OWN) == ("b", (("rule", 1),))


def test_other_own_secrets_empty_it() -> None:
    """And what was searched with the former ones, and comes late from another thread, is not kept."""
    seen, later = SeenTexts(), OwnSecrets(plain=("later",))
    seen.get("a", OWN)
    seen.put("a", OWN, (None, ()))
    assert seen.get("a", later) is None
    seen.put("a", OWN, (None, ()))
    assert seen.get("a", later) is None


def test_the_oldest_texts_are_forgotten() -> None:
    """Beyond so many texts, those that nobody asked for."""
    seen = SeenTexts()
    seen.get("first", OWN)
    seen.put("first", OWN, (None, ()))
    seen.put("second", OWN, (None, ()))
    for n in range(MAX_TEXTS - 1):
        assert seen.get("first", OWN) is not None
        seen.put(str(n), OWN, (None, ()))
    assert seen.get("second", OWN) is None


def test_masked_texts_are_kept_up_to_a_size() -> None:
    """A single large one not at all; the same one twice counts once."""
    seen = SeenTexts()
    seen.get("", OWN)
    seen.put("large", OWN, ("x" * MAX_KEPT_CHARACTERS, ()))
    assert seen.get("large", OWN) is None
    part = "x" * (MAX_KEPT_CHARACTERS // 8)
    for n in range(9):
        for _ in range(3):
            seen.put(str(n), OWN, (part, ()))
    assert [n for n in range(9) if seen.get(str(n), OWN) is None] == [0]


def test_threads_share_it() -> None:
    """Its bounds hold, and nobody gets another text's answer."""
    seen, wrong = SeenTexts(), []
    seen.get("", OWN)

    def work(name: int) -> None:
        for n in range(500):
            text = f"{name}-{n}"
            seen.put(text, OWN, (text, ()))
            known = seen.get(text, OWN)
            if known is not None and known[0] != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
