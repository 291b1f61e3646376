"""What all views of one server share."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Self, cast

from starlette.requests import Request

from traced_loop.export.otlp_settings import jaeger_link
from traced_loop.frozen_value import frozen_value
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_list import RunList
from traced_loop.web.confirmations import Confirmations
from traced_loop.web.kept_diagnoses import KeptDiagnoses
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_runs import LiveRuns
from traced_loop.web.loops_of_page import LoopsOfPage
from traced_loop.web.recent_traces import RecentTraces
from traced_loop.web.store_changes import StoreChanges
from traced_loop.web.typed_commands import command


@frozen_value
class Site:
    """One store, as this server shows it.

    Attributes:
        folder: of the store; it may be missing yet.
        environment: variables that name the model of live runs, its server and its key, and Jaeger's page.
        changes: tells whether the store is another than it was.
        runs: the list of the stored runs.
        confirmations: what waits for a person, and what can go on here.
        live: the runs that go on in this process.
        recent: traces that were read a moment ago.
        diagnoses: of runs that have ended, that were made a moment ago.
        offered: what the command was started with, for such runs.
        now_ns: the time, nanoseconds since 1970.
    """

    folder: Path
    environment: Mapping[str, str]
    changes: StoreChanges
    runs: RunList
    confirmations: Confirmations
    live: LiveRuns = field(default_factory=LiveRuns)
    recent: RecentTraces = field(default_factory=RecentTraces)
    diagnoses: KeptDiagnoses = field(default_factory=KeptDiagnoses)
    offered: LiveChoices = field(default_factory=LiveChoices)
    now_ns: Callable[[], int] = field(default=time.time_ns)

    @classmethod
    def of(
        cls,
        folder: Path,
        environment: Mapping[str, str],
        *,
        loops: LoopsOfPage | None = None,
        offered: LiveChoices | None = None,
    ) -> Self:
        """The site of a store, of which nothing is read yet.

        Args:
            folder: of the store.
            environment: as the attribute.
            loops: what can go on from the page; None for nothing.
            offered: what runs that begin on the page have; None for the environment's model and the shipped tools.
        """
        return cls(
            folder=folder,
            environment=environment,
            changes=StoreChanges(folder),
            runs=RunList(folder),
            confirmations=Confirmations(folder, loops),
            offered=offered or LiveChoices(),
        )

    def open_store(self) -> LocalStore:
        """The store, for reading, for one request.

        Raises:
            UsageError: its path is something else than a folder.
        """
        return LocalStore.open(self.folder)

    def stamp(self, watch: str) -> str:
        """A text that is equal as long as nothing changed.

        Args:
            watch: ``""`` for the whole store, ``runs`` for it and whether the processes of its runs are there,
                ``run:ID`` for a stored run and whether its process is there, ``live:NAME`` for one of this process.
        """
        kind, _, name = watch.partition(":")
        if kind == "live":
            live = self.live.find(name)
            return "-" if live is None else str(live.version)
        if kind == "run":
            return f"{self.changes.run_stamp(name)}/{self.runs.state(name)}"
        whole = f"{self.changes.stamp()}/{self.runs.states()}" if kind == "runs" else self.changes.stamp()
        # It stands in an address, and the store's grows with the runs that go on.
        return hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()

    def command(self, *words: str) -> str:
        """A command line about this store; ``words`` are what stands behind ``traced-loop``."""
        return command(self.folder, *words)

    def jaeger_link(self, trace_id: str) -> str | None:
        """The page of a trace in Jaeger, when one is known."""
        return jaeger_link(self.environment, trace_id)


def site_of(request: Request) -> Site:
    """The site that a request was made to."""
    return cast("Site", request.app.state.site)
