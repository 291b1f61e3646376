"""What masking costs, in microseconds of CPU per KiB: on clean text, on text full of secrets, on text made to be slow.

Run it as ``python tests/benchmarks/redaction.py``. The bars are for an idle machine and are not part of the tests:
clean 500, dense 12,000, hostile 10,000.
"""

import json
import sys
import time
from pathlib import Path

from traced_loop.redaction import Redactor

CASES = Path(__file__).parents[1] / "redaction" / "cases.jsonl"
BARS = {"clean": 500, "dense": 12_000, "hostile": 10_000}
SIZE = 32_768
CLEAN_ROW = {"order_id": "A1", "state": "shipped to the northern depot", "items": 3, "note": "left at the door"}
HOSTILE = (
    *(
        "dsn:x@",
        "code=",
        "cookie=1&",
        "jwt: ",
        "sig:x@",
        "密码: ",
        "%40A1b2C3d4",
        "GR1348941%41",
        "a.",
        "4 1 ",
        "://x:",
    ),
    *("-----BEGIN RSA PRIVATE KEY-----\n", '{"', "[", "aa11", "eyJa.", "curl -u ", "password,b\n", "[REDACTED:email]"),
)


def cost(text: str) -> float:
    """The best of three, each with a redactor that knows no text."""
    best = 1e9
    for _ in range(3):
        redactor = Redactor()
        redactor.text("warm up")
        began = time.process_time()
        redactor.text(text)
        best = min(best, time.process_time() - began)
    return 1e6 * best / (len(text) / 1024)


def dense() -> float:
    """All cases, one after the other."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="ascii").splitlines()]
    given = [case["text"] if "text" in case else json.dumps(case["json"]) for case in cases]
    return sum(cost(text) * len(text) for text in given) / sum(map(len, given))


def main() -> None:
    """Print the costs; exit with 1 where one is over its bar."""
    slowest = max((cost((seed * (SIZE // len(seed) + 1))[:SIZE]), seed) for seed in HOSTILE)
    costs = {
        "clean": cost(json.dumps({"rows": [CLEAN_ROW] * 800})),
        "dense": dense(),
        "hostile": slowest[0],
    }
    for name, value in costs.items():
        print(f"{name:8} {value:7.0f} us/KiB, bar {BARS[name]}")
    print(f"slowest  {slowest[1]!r}")
    sys.exit(any(value > BARS[name] for name, value in costs.items()))


if __name__ == "__main__":
    main()
