"""Servers that the real tests talk to over real sockets; in CI a real test must run, so its skip is a failure."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from .aimock import AimockMissingError, running_aimock
from .fakellm import running_fakellm
from .foreign_servers import ForeignServerMissingError
from .litellm_proxy import running_litellm_proxy
from .llmock import running_llmock
from .mock_llm import running_mock_llm
from .received_telemetry import running_otlp_receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from .aimock import Aimock
    from .fakellm import Fakellm
    from .foreign_servers import ForeignServer
    from .litellm_proxy import LitellmProxy
    from .llmock import Llmock
    from .mock_llm import MockLlm
    from .received_telemetry import OtlpReceiver


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a real test into a failure when CI=true: set-up must not vanish silently."""
    report = yield
    expected_failure = hasattr(report, "wasxfail")
    in_ci = os.environ.get("CI") == "true"
    if report.skipped and not expected_failure and in_ci and item.get_closest_marker("real"):
        report.outcome = "failed"
        report.longrepr = f"a real test was skipped in CI: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.fixture
def start_aimock(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], Aimock]]:
    """Start fake OpenAI servers: `start_aimock(in_order(asks_for(...), says("done"))).base_url`."""
    with ExitStack() as servers:

        def start(fixtures: Sequence[Mapping[str, Any]]) -> Aimock:
            try:
                return servers.enter_context(running_aimock(fixtures, tmp_path_factory.mktemp("aimock")))
            except AimockMissingError as missing:
                pytest.skip(str(missing))

        yield start


@pytest.fixture
def start_otlp_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., OtlpReceiver]]:
    """Start OTLP receivers: `start_otlp_receiver(behaviour="refuse", http_port=..., grpc_port=...)`."""
    with ExitStack() as servers:

        def start(**options: Any) -> OtlpReceiver:
            folder = tmp_path_factory.mktemp("otlp")
            return servers.enter_context(running_otlp_receiver(folder, **options))

        yield start


@pytest.fixture
def otlp_receiver(start_otlp_receiver: Callable[..., OtlpReceiver]) -> OtlpReceiver:
    """An OTLP receiver that accepts everything, in a process of its own."""
    return start_otlp_receiver()


def _of_the_session(start: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
    """A server that runs until the session ends and is told anew what to answer by each test."""
    try:
        running = start()
        server = running.__enter__()
    except (AimockMissingError, ForeignServerMissingError) as missing:
        pytest.skip(str(missing))
    try:
        yield server
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """An aimock that is told by each test what to answer."""
    yield from _of_the_session(lambda: running_aimock([], tmp_path_factory.mktemp("aimock")))


@pytest.fixture(scope="session")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llmock]:
    """Likewise."""
    yield from _of_the_session(lambda: running_llmock(tmp_path_factory.mktemp("llmock")))


@pytest.fixture(scope="session")
def mock_llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockLlm]:
    """Likewise."""
    yield from _of_the_session(lambda: running_mock_llm(tmp_path_factory.mktemp("mock-llm")))


@pytest.fixture(scope="session")
def fakellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fakellm]:
    """Likewise."""
    yield from _of_the_session(lambda: running_fakellm(tmp_path_factory.mktemp("fakellm")))


@pytest.fixture(scope="session")
def litellm_proxy(tmp_path_factory: pytest.TempPathFactory, llmock: Llmock) -> Iterator[LitellmProxy]:
    """LiteLLM's proxy before the llmock of the session."""
    yield from _of_the_session(lambda: running_litellm_proxy(tmp_path_factory.mktemp("litellm"), llmock))


@pytest.fixture
def foreign(request: pytest.FixtureRequest, server: str) -> ForeignServer:
    """The server that a test's parameter names."""
    found: ForeignServer = request.getfixturevalue(server)
    return found
