"""A service of the other side, on jaeger-client alone: serves the request whose headers are its argument, as JSON.

A program of its own, as such services are; and because jaeger-client leaves sockets open when it looks for its address.
"""

import json
import sys

import jaeger_client
import opentracing
from jaeger_client.reporter import NullReporter


def main(headers: dict[str, str]) -> dict[str, object]:
    """What it understood of the headers, and the headers that it would call others with."""
    sampler = jaeger_client.ConstSampler(decision=True)
    tracer = jaeger_client.Tracer("far", NullReporter(), sampler, generate_128bit_trace_id=True)
    served = tracer.start_span("serve", child_of=tracer.extract(opentracing.Format.HTTP_HEADERS, headers))
    answer: dict[str, str] = {}
    tracer.inject(served.context, opentracing.Format.HTTP_HEADERS, answer)
    return {
        "trace_id": served.trace_id,
        "parent_id": served.parent_id,
        "span_id": served.span_id,
        "flags": served.context.flags,
        "baggage": served.context.baggage,
        "headers": answer,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
