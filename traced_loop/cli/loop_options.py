"""The options that ``run`` and ``resume`` share, by their types; what they mean is in ``run_options``."""

from pathlib import Path
from typing import Annotated

import typer

ModelOption = Annotated[str | None, typer.Option(help="Model name; default OPENAI_MODEL.")]
BaseUrlOption = Annotated[str | None, typer.Option(help="Server; default OPENAI_BASE_URL, else OpenAI's.")]
ToolsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A shipped tool's NAME or your own pkg.mod:attr; repeat or separate with commas; none for no tools. "
        "Not given: multiply, calculator, search_docs, query_order."
    ),
]
RootOption = Annotated[Path | None, typer.Option(help="The folder that read_text_file may read.")]
ApproveOption = Annotated[
    list[str] | None,
    typer.Option(metavar="TOOL", help="A tool that may write without being asked about; repeat or use commas."),
]
PolicyOption = Annotated[
    str | None, typer.Option(metavar="PKG.MOD:ATTR", help="A Policy of your own, which comes before --approve.")
]
ToolSecondsOption = Annotated[float, typer.Option(help="One call of a tool that declares no timeout.")]
WarnAtOption = Annotated[
    float | None, typer.Option(metavar="PART", help="Part of a limit from which it warns; 0 for never.")
]
LastRequestOption = Annotated[
    bool, typer.Option("--last-request", help="Where a limit stops it, let the model say how far it got.")
]
OnToolErrorOption = Annotated[
    str, typer.Option(help="A tool that fails: report it to the model, stop, or compensate what its batch did.")
]
RepetitionOption = Annotated[
    str, typer.Option(help="A run that repeats itself: stop it after a nudge, only nudge the model, or observe.")
]
PriceOption = Annotated[
    str | None,
    typer.Option(help="INPUT,OUTPUT in USD per million tokens; then, where known, cached_input=, cache_write=."),
]
ApiOption = Annotated[str, typer.Option(help="Which API: chat_completions or responses.")]
ProfileOption = Annotated[
    str | None, typer.Option(help="Whose ways the server has: ollama, vllm, groq, ...; a wrong name lists all.")
]
FallbackOption = Annotated[
    list[str] | None, typer.Option(metavar="MODEL", help="Asked where the model cannot be; can be repeated.")
]
StreamOption = Annotated[bool, typer.Option("--stream", help="Ask for the answer in pieces; a terminal shows them.")]
TolerateOption = Annotated[list[str] | None, typer.Option(help="A quirk of the server to accept.")]
ContentOption = Annotated[
    str | None, typer.Option(help="Messages and results in telemetry, masked: none, span, event, both or full.")
]
OtlpOption = Annotated[str | None, typer.Option(help="Send the spans to this collector, too.")]
MetricsOption = Annotated[str | None, typer.Option(help="Where metrics go: otlp, prometheus, console or none.")]
ResultJsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the answer.")]
