// Vercel AI SDK, which traces itself.
//
// Needs, in a folder outside of this repository, the npm packages ai @ai-sdk/openai zod @opentelemetry/api
// @opentelemetry/sdk-trace-node @opentelemetry/otlp-transformer; run there `python scenario.py node vercel_ai.mjs`,
// with copies of both, FIXTURES as the folder to write to, and CONTENT=off for no content.

import { readFileSync, writeFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const kept = [];
const exporter = {
  export(spans, done) {
    kept.push(...spans);
    done({ code: 0 });
  },
  shutdown: async () => {},
};
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "ai" }),
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
provider.register();

const content = process.env.CONTENT !== "off";
await generateText({
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "none" }).chat("gpt-4o-mini"),
  system: "Read meters with the tool.",
  prompt: "How much has meter 1 counted?",
  stopWhen: stepCountIs(5),
  tools: {
    read_meter: tool({
      description: "Read one meter.",
      inputSchema: z.object({ meter: z.number().int() }),
      execute: async ({ meter }) => {
        if (meter !== 1) throw new Error(`no such meter: ${meter}`);
        return '{"meter": 1, "kwh": 42}';
      },
    }),
  },
  experimental_telemetry: { isEnabled: true, functionId: "meters", recordInputs: content, recordOutputs: content },
});

const version = JSON.parse(readFileSync("node_modules/ai/package.json", "utf8")).version;
const document = new TextDecoder().decode(JsonTraceSerializer.serializeRequest(kept));
const text = document
  .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:8000")
  .replace(/file:\/\/[^\s"\\)]*\//g, "file:///")
  .replaceAll('{"traceId"', '\n{"traceId"');
writeFileSync(`${process.env.FIXTURES}/vercel-ai-${version}${content ? "" : "-off"}.json`, `${text}\n`);
console.log(`${kept.length} spans`);
