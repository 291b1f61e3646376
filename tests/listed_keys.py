"""What `traced-loop runs --json` says of a run: programs read it, so a key is never taken away."""

LISTED_KEYS = [
    "run_id",
    "stop_reason",
    "started_at",
    "seconds",
    "steps",
    "tokens",
    "cost_usd",
    "state",
    "seconds_at_least",
]
