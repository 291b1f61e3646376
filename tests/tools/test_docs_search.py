"""The search ranks the same way every time and says what to do with a query that means nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.errors import InvalidArguments, ToolError
from traced_loop.tool_registry import definition_of
from traced_loop.tools.docs_search import DOCUMENTS, MAX_QUERY_CHARACTERS, MAX_RESULTS, search_docs


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("budget", "budgets"),
        ("limits on tokens and money", "budgets"),
        ("idempotency key for a refund", "idempotency"),
        ("connection lost, is the outcome unknown?", "unknown-outcomes"),
        ("TIMEOUT", "timeouts"),
        ("run tool calls in parallel", "parallel-calls"),
        ("response was truncated", "truncation"),
        ("agent repeats: repetition", "repetition"),
        ("redact content in spans", "redaction"),
        ("who approves risky tools: confirmation", "confirmation"),
        ("prompt injection", "injection"),
        ("validate arguments schema", "validation"),
        ("retry backoff", "retries"),
    ],
)
def test_the_document_about_the_matter_comes_first(query: str, best: str) -> None:
    """Case, plurals and small words make no difference."""
    assert search_docs(query)[0]["id"] == best


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)
def test_every_document_is_found_by_its_own_title(document: object) -> None:
    """No document is out of reach, and it is given whole."""
    assert isinstance(document, type(DOCUMENTS[0]))
    found = search_docs(document.title)

    assert found[0] == {"id": document.id, "title": document.title, "text": document.text}


def test_at_most_three_documents_are_given() -> None:
    """Also for words that many of them hold."""
    assert len(search_docs("run tool call write model")) == MAX_RESULTS


def test_the_order_of_words_changes_nothing() -> None:
    """Nor does saying a word twice."""
    assert search_docs("write timeout retry") == search_docs("retry retry timeout write")


def test_words_that_no_document_holds_find_nothing() -> None:
    """An empty list, not the least bad documents."""
    assert search_docs("zebra 数据库") == []


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", "a", "\0", "_", "\ud83e"], ids=ascii)
def test_a_query_without_a_word_says_what_to_give(query: str) -> None:
    """Nothing to search for is a mistake of the query, not an empty result."""
    with pytest.raises(InvalidArguments, match="key words"):
        search_docs(query)


def test_a_query_of_the_longest_length_is_searched_and_a_longer_one_is_not() -> None:
    """The error does not echo it."""
    longest = "budget ".ljust(MAX_QUERY_CHARACTERS, "x")
    with pytest.raises(InvalidArguments, match="longer than") as refused:
        search_docs(longest + "x")

    assert (search_docs(longest)[0]["id"], "xxx" in str(refused.value)) == ("budgets", False)


@pytest.mark.parametrize("query", [None, 7, b"budget", ["budget"]])
def test_a_query_that_is_no_text_is_refused(query: object) -> None:
    """A direct call with another type gets the tool's own error."""
    with pytest.raises(InvalidArguments):
        search_docs(query)  # type: ignore[arg-type]


@given(st.text(max_size=300))
def test_any_text_is_searched_or_refused(query: str) -> None:
    """Nothing but a tool error, and never more than the maximum."""
    found, said = list[dict[str, str]](), ""
    try:
        found = search_docs(query)
    except ToolError as error:
        said = str(error)

    assert (len(found) <= MAX_RESULTS, len(said) <= 120) == (True, True)


def test_the_documents_have_distinct_ids_and_are_short() -> None:
    """Three of them fit well before a model."""
    assert len({document.id for document in DOCUMENTS}) == len(DOCUMENTS)
    assert max(len(document.text) for document in DOCUMENTS) <= 600


def test_it_is_a_read_of_low_risk() -> None:
    """It needs no confirmation."""
    definition = definition_of(search_docs)

    assert (definition.name, definition.effect, definition.risk) == ("search_docs", "read", "low")
