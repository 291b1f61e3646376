"""A search over a few short documents about running tool-calling loops safely.

The documents are fixed and the ranking is plain term scoring, so the same query gives the same answer in every
process.
"""

import math
import re
from collections import Counter
from dataclasses import asdict

from traced_loop.errors import InvalidArguments
from traced_loop.frozen_value import frozen_value
from traced_loop.tool_registry import tool

MAX_QUERY_CHARACTERS = 200
"""Longest query, in characters; ``>`` is refused. A dozen search words fit several times."""

MAX_RESULTS = 3
"""How many documents one search gives at most: together well below 2 KiB, cheap to put before a model."""

TITLE_WEIGHT = 3
"""A word in a title counts as often as this many in the text: a title says what the document is about."""


@frozen_value
class Document:
    """One document; ``id`` is short and stable, ``title`` and ``text`` are English."""

    id: str
    title: str
    text: str


DOCUMENTS: tuple[Document, ...] = (
    Document(
        id="budgets",
        title="Budgets: limits before spending",
        text=(
            "Give a run limits on steps, tool calls, tokens, money and seconds. Check each limit before the "
            "request that would use it up, and set the amount aside until the real usage is known. A limit that "
            "is looked at afterwards only reports the bill."
        ),
    ),
    Document(
        id="idempotency",
        title="Idempotency keys: a write happens once",
        text=(
            "Give every write a key that comes from the business, such as the id of the request that it answers. "
            "All attempts of one write share the key, so a second attempt finds the stored result instead of "
            "paying twice. The same key with other arguments is a conflict, never a new write."
        ),
    ),
    Document(
        id="unknown-outcomes",
        title="Unknown outcomes: when a write may have happened",
        text=(
            "A write that lost its connection after it started may or may not have taken effect. Do not repeat "
            "it by itself and do not report that it failed. Stop, say that the outcome is unknown, and let a "
            "person or a later check of the other system settle it."
        ),
    ),
    Document(
        id="timeouts",
        title="Timeouts and deadlines",
        text=(
            "A timeout bounds one tool or one request, a deadline bounds the whole run. Neither may outlive the "
            "time that the run has left. A thread cannot be killed: what is abandoned goes on by itself, and its "
            "late end should still be recorded."
        ),
    ),
    Document(
        id="parallel-calls",
        title="Parallel tool calls",
        text=(
            "Reads of one batch can run together; a write waits for the reads before it, and what follows waits "
            "for the write. Check all calls of the batch before any of them starts. Results go back in the order "
            "in which the calls were asked for, each under its own id."
        ),
    ),
    Document(
        id="truncation",
        title="Truncated responses",
        text=(
            "A response that was cut at the token limit can hold a call that looks whole and is not. Run none of "
            "its calls, answer each id, and stop or ask again with more room. Arguments that end in the middle "
            "of a text are a sign of the same, whatever finish reason the server gives."
        ),
    ),
    Document(
        id="repetition",
        title="Repetition: a loop that learns nothing new",
        text=(
            "The same call with the same result brings no news. Count such steps, tell the model once to try "
            "something else, then stop. Do not punish progress: the same test command after an edit is a new "
            "question, and polling for a job is meant to repeat."
        ),
    ),
    Document(
        id="redaction",
        title="Redaction: keep content out of traces",
        text=(
            "Leave prompts, arguments and results out of spans unless somebody asked for them. Sizes, shapes and "
            "keyed fingerprints still show which calls were equal. What is recorded passes through redaction "
            "first, the text of exceptions included."
        ),
    ),
    Document(
        id="confirmation",
        title="Confirmation and policy for risky tools",
        text=(
            "Declare with each tool whether it reads or writes and how risky it is; the model has no say in "
            "that. A risky write waits for a person, who sees the exact arguments. An approval is good for those "
            "arguments only."
        ),
    ),
    Document(
        id="injection",
        title="Prompt injection: tool output is data",
        text=(
            "A web page or a file can hold sentences that look like orders. Treat all tool output as data, give "
            "a run only the tools that it needs, and decide permissions outside of the model. No prompt can be "
            "relied on to refuse."
        ),
    ),
    Document(
        id="validation",
        title="Validation of arguments",
        text=(
            "Check a call's arguments against the declared schema and refuse what does not fit. Text that is no "
            "JSON must not turn into an empty object, and a number in quotes is not a number. The error names "
            "the field and what to write instead, so that the model can correct itself."
        ),
    ),
    Document(
        id="retries",
        title="Retries and backoff",
        text=(
            "Try again only after errors that can pass, such as a busy server, and only what is safe to repeat. "
            "Wait as long as the server asks, longer each time, and never beyond the deadline. Show each attempt "
            "in the trace: hidden retries are hidden seconds and hidden costs."
        ),
    ),
)
"""All documents there are."""

_COMMON = """
a an and are as at be by can do does for from has have how i in is it its my not of on or our should that the
their them there they this to was we what when where which who why will with you your
"""
_STOP_WORDS = frozenset(_COMMON.split())


@tool(effect="read", timeout=2.0)
def search_docs(query: str) -> list[dict[str, str]]:
    """Search short documents about running tool-calling loops safely; an empty list means: try other words.

    Args:
        query: A few English key words, such as write timeout retry; at most 200 characters.

    Returns:
        The best documents first, at most ``MAX_RESULTS``, each with ``id``, ``title`` and ``text``; only documents
        that hold a word of the query. Documents of equal score keep the order of ``DOCUMENTS``.

    Raises:
        InvalidArguments: the query is too long, or holds no word to search for.
    """
    if type(query) is not str:
        raise InvalidArguments("query must be a text with a few key words")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidArguments(f"query is longer than {MAX_QUERY_CHARACTERS} characters; give a few key words")
    wanted = set(_terms(query))
    if not wanted:
        raise InvalidArguments("query holds no word to search for; give a few key words, such as write timeout")
    weighted = [(document, _term_counts(document)) for document in DOCUMENTS]
    weights = _rarity(wanted, [counts for _, counts in weighted])
    scored = [(_score(weights, counts), document) for document, counts in weighted]
    # The sort is stable: equal scores stay in the order of the documents.
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    return [asdict(document) for _, document in best[:MAX_RESULTS]]


def _terms(text: str) -> list[str]:
    """The words of a text that mean something, in lower case, singular and plural alike."""
    words = re.findall(r"[^\W_]+", text.casefold())
    return [_stem(word) for word in words if len(word) > 1 and word not in _STOP_WORDS]


def _stem(word: str) -> str:
    """A word without its plural ending; crude, but the same for the query and the documents."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _term_counts(document: Document) -> Counter[str]:
    """How often each word stands in a document, with ``TITLE_WEIGHT``."""
    counts = Counter(_terms(document.text))
    for term in _terms(document.title):
        counts[term] += TITLE_WEIGHT
    return counts


def _rarity(wanted: set[str], documents: list[Counter[str]]) -> dict[str, float]:
    """What each word is worth: the fewer documents hold it, the more."""
    holding = {term: sum(term in counts for counts in documents) for term in sorted(wanted)}
    return {term: math.log(1 + len(documents) / held) for term, held in holding.items() if held}


def _score(weights: dict[str, float], counts: Counter[str]) -> float:
    """Sum over the words of the query; a word's tenth occurrence adds less than its first."""
    return sum(weight * math.log1p(counts[term]) for term, weight in weights.items())
