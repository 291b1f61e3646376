"""Forms as a program sends them with a browser's own cookie: as often and as changed as a test wants, at once too."""

from __future__ import annotations

import http.client
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page


@dataclass(frozen=True)
class SentForm:
    """A form of a page, with the cookie of the browser that shows it."""

    address: str
    path: str
    cookie: str
    fields: dict[str, str]

    def send(self, **changed: str) -> tuple[int, str]:
        """Status and body; a body that leads elsewhere is the address."""
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        headers = {
            "Cookie": self.cookie,
            "Origin": self.address,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        try:
            connection.request("POST", self.path, urlencode({**self.fields, **changed}), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            return answer.status, answer.headers.get("location") or body
        finally:
            connection.close()


def form_of(page: Page, selector: str = "form[data-digest]") -> SentForm:
    """The first form of its kind on a page, as it stands there now."""
    fields = page.eval_on_selector(selector, "form => Object.fromEntries(new FormData(form))")
    path = page.eval_on_selector(selector, "form => new URL(form.action).pathname")
    parts = urlsplit(page.url)
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
    return SentForm(f"{parts.scheme}://{parts.netloc}", path, cookie, fields)


def sent_together(forms: Sequence[SentForm], **changed: str) -> list[tuple[int, str]]:
    """All of them at the same moment."""
    with ThreadPoolExecutor(len(forms)) as pool:
        return list(pool.map(lambda form: form.send(**changed), forms))
