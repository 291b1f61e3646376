"""How each family of instrumentations writes requests, calls and runs: one file per dialect, all into ``SpanFacts``."""
