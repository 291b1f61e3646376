"""How soon the first spans of a large run are seen in a real browser, what its page costs, and how large it is.

Run it as ``python tests/benchmarks/waterfall.py [SPANS]``. Of a run of steps, of one with all spans below one, and of
a chain: milliseconds from the start of the navigation to the first picture, milliseconds to open a row, bytes,
milliseconds of a processor's time in which the page is made. The bars are for an idle machine and 5,000 spans, and are
not part of the tests: 1,000 ms, 300 ms, 1,000,000 bytes, 1,000 ms.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from playwright.sync_api import Page

from tests.web.bare_pages import bare_pages
from tests.web.browser import MISSING, chromium, running_browser, visiting
from tests.web.running_page import running_page
from tests.web.written_runs import deep_run, stepped_run, wide_run, write_run

BARS = {"first": 1_000, "open": 300, "bytes": 1_000_000, "made": 1_000}
VIEW = """() => ({
  first: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  bytes: performance.getEntriesByType('navigation')[0].decodedBodySize,
  rows: document.querySelectorAll('tr.wf-row').length,
})"""
OPEN = """async () => {
  const row = [...document.querySelectorAll('tr.wf-row[aria-expanded="false"]')].pop();
  if (!row) return 0;
  const begun = performance.now();
  row.focus();
  row.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  const handle = row.dataset.handle;
  while (!document.querySelector(`tr.wf-row[data-parent="${handle}"]`)) await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""


def main() -> int:
    """Measure, print, and compare with the bars."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    program = chromium()
    if program is None:
        sys.exit(MISSING)
    shapes = {"steps": stepped_run(count // 10), "wide": wide_run(count), "chain": deep_run(count)}
    missed = 0
    with tempfile.TemporaryDirectory() as folder, running_browser(program) as browser:
        store = Path(folder) / "store"
        for name, spans in shapes.items():
            write_run(store, name, spans)
        with running_page(store) as server, visiting(browser, server.new_link()) as visit:
            for name in shapes:
                best = min((measured(visit.page, f"{server.address}/runs/{name}") for _ in range(3)), key=_first)
                best["made"] = min(made(store, name) for _ in range(3))
                over = [key for key, bar in BARS.items() if best[key] > bar]
                missed += len(over)
                told = " ".join(f"{key} {best[key]:,.0f}" for key in ("first", "open", "bytes", "rows", "made"))
                print(f"{name:<6} {told}{'  over the bar: ' + ', '.join(over) if over else ''}")
    return 1 if missed else 0


def measured(page: Page, address: str) -> dict[str, float]:
    """One visit."""
    page.goto(address)
    page.wait_for_selector("#wf .wf-tools:not([hidden])")
    view: dict[str, float] = page.evaluate(VIEW)
    return {**view, "open": page.evaluate(OPEN)}


def made(store: Path, name: str) -> float:
    """Milliseconds of a processor's time, without a server and a browser."""
    pages = bare_pages(store)
    before = time.process_time()
    if pages.get(f"/runs/{name}").status_code != 200:
        raise RuntimeError(f"the page of {name} cannot be read")
    return (time.process_time() - before) * 1_000


def _first(figures: dict[str, float]) -> float:
    return figures["first"]


if __name__ == "__main__":
    sys.exit(main())
