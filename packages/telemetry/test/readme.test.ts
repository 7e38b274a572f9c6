import { readFileSync } from "node:fs";
import type { CheckResult } from "@svc/context";
import { testDatabase } from "@svc/dev-services";
import { variablesOf } from "@svc/options";
import type { RecordedSpan } from "@svc/telemetry";
import { codeBlocks, runSample, until } from "@svc/test-support";
import { openOtlpReceiver } from "@svc/test-support/otlp";
import { expect } from "chai";
import { allowedAttributes } from "../src/attributes.ts";
import { telemetryPluginOptions } from "../src/plugin-options.ts";
import { telemetryCheck } from "../src/readiness.ts";
import { poolOf } from "../src/sql/pg-pool.ts";

/** The members of an option's kind that the tests read. */
interface Kind {
  readonly fallback?: unknown;
  readonly schema?: object;
}

const readme = new URL("../README.md", import.meta.url);
const markdown = readFileSync(readme, "utf8");

/** Returns the spans of a sample once one of them has this name. */
async function spansWith(name: string, url: string): Promise<readonly RecordedSpan[]> {
  let spans: readonly RecordedSpan[] = [];
  await until(`the span ${name}`, async () => {
    spans = (await (await fetch(`${url}/spans`)).json()) as readonly RecordedSpan[];
    return spans.some((span) => span.name === name);
  });
  return spans;
}

describe("the samples in the README of @svc/telemetry", () => {
  const postgres = testDatabase({ name: "telemetry-readme" });

  it("TRACE-7 TRACE-14 return the span quoted in the README after one request", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    expect(await (await fetch(`${url}/orders/7`)).json()).to.deep.equal({ id: "7" });
    const shown = JSON.parse(codeBlocks(markdown, "json")[0] ?? "") as RecordedSpan;
    const spans = await spansWith(shown.name, url);
    expect(spans.find(({ name }) => name === shown.name)).to.deep.include(shown);
  });

  it("TRACE-1 TRACE-27 send the span to the collector before the process ends", async () => {
    await using receiver = await openOtlpReceiver();
    const replace = { "http://127.0.0.1:4318": new URL(receiver.url).origin };
    await using sample = await runSample(readme, 1, { replace });
    await (await fetch(`${await sample.url}/orders/7`)).text();
    sample.kill("SIGTERM");
    const { code, stderr } = await sample.ended;
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(receiver.spans.map(({ name, kind }) => [name, kind])).to.deep.equal([
      ["GET /orders/:id", "server"],
    ]);
  });

  it("TRACE-8 create a span for a statement inside the span of its request", async () => {
    await using sample = await runSample(readme, 2, { env: { DATABASE_URL: postgres.url } });
    const url = await sample.url;
    expect(await (await fetch(`${url}/tables`)).json()).to.have.lengthOf(3);
    const spans = await spansWith("GET /tables", url);
    const [statement, request] = ["SELECT pg_class", "GET /tables"].map((wanted) =>
      spans.find(({ name }) => name === wanted),
    );
    expect(statement).to.include({ kind: "client", parentSpanId: request?.spanId });
    expect(statement?.attributes).to.include({ "db.rows_affected": 3 });
  });

  it("TRACE-13 TRACE-20 print the spans of an event and its job, in one trace", async () => {
    await using sample = await runSample(readme, 3, { env: { DATABASE_URL: postgres.url } });
    const { code, stdout, stderr } = await sample.ended;
    expect([code, stderr]).to.deep.equal([0, ""]);
    const [order, ...spans] = stdout.trim().split("\n");
    expect(order).to.equal("order 7");
    const parts = spans.map((line) => /^(.*) ([0-9a-f]{32})$/.exec(line)?.slice(1) ?? []);
    const names = parts.map(([name = ""]) => name).toSorted();
    expect(names).to.deep.equal([
      "consumer event order.placed",
      "consumer job order.placed->mail",
      "internal orders.place",
    ]);
    for (const name of names) expect(markdown).to.include(`\`${name}\``);
    expect(new Set(parts.map(([, trace]) => trace)).size).to.equal(1);
  });

  it("TRACE-7 create a span with the provider of the application", async () => {
    await using sample = await runSample(readme, 4);
    const url = await sample.url;
    await (await fetch(`${url}/orders/7`)).text();
    await until("the span", async () => {
      const names = (await (await fetch(`${url}/names`)).json()) as readonly string[];
      return names[0] === "GET /orders/:id";
    });
  });
});

describe("the tables in the README of @svc/telemetry", () => {
  it("RDY-17 TRACE-23 quote the details of /ready, as docs/operate.md does", () => {
    const operate = readFileSync(new URL("../../../docs/operate.md", import.meta.url), "utf8");
    const detailOf = (target: string | undefined, failing: boolean): string => {
      const counts = { exported: 0, failedBatches: 0, dropped: 0, failing };
      const check = telemetryCheck(() => ({ target, counts, attributesDropped: 0, failures: 0 }));
      return (check.check(AbortSignal.abort()) as CheckResult).detail;
    };
    const exporting = detailOf("<endpoint>", false).replace("0 span", "N span").replace("0 batch", "M batch");
    for (const detail of [detailOf(undefined, false), exporting, detailOf("x", true)]) {
      expect(markdown).to.include(`| \`${detail}\``);
      expect(operate).to.include(`| \`${detail}\``);
    }
  });

  it("quote the error of traceQueries()", () => {
    const quoted = /`(traceQueries\(\) needs [^`]*)`/.exec(markdown)?.[1];
    expect(() => poolOf("a URL"))
      .to.throw(TypeError)
      .with.property("message", quoted);
  });

  it("TRACE-6 show every key that the configuration file accepts, with its default, and say that it does not accept headers", () => {
    const shown = codeBlocks(markdown, "toml")[0] ?? "";
    const keys = [...shown.matchAll(/^(\w+) = ([^#\n]*)/gm)].map(
      ([, key = "", value = ""]) => [key, JSON.parse(value) as unknown] as const,
    );
    const forbidden: string[] = [];
    const defaults = Object.values(telemetryPluginOptions.keys).flatMap((entry) => {
      if (!("key" in entry)) return [];
      const { fallback, schema } = entry.kind as Kind;
      if (schema !== undefined && "not" in schema) {
        forbidden.push(entry.key);
        return [];
      }
      return [[entry.key, "inFile" in entry ? Number(fallback) / 1000 : fallback]];
    });
    expect(Object.fromEntries(keys)).to.deep.equal(Object.fromEntries(defaults));
    expect(forbidden).to.deep.equal(["headers"]);
    expect(markdown).to.include("\n- `headers` is not allowed in the file");
  });

  it("TRACE-2 TRACE-3 TRACE-4 list every environment variable", () => {
    for (const name of variablesOf(telemetryPluginOptions)) expect(markdown).to.include(`| \`${name}\``);
  });

  it("TRACE-15 name only attributes that are recorded, and all of them", () => {
    const [section = ""] = markdown.split("\n## Spans\n")[1]?.split("\n## ") ?? [];
    const named = [
      ...section.matchAll(/`((?:http|jfast|server|error|db|messaging|svc|rag|llm|storage)\.[\w.]+)`/g),
    ];
    const names = named
      .map(([, name = ""]) => name)
      .filter((name) => !["rag.ingest", "rag.search"].includes(name));
    const given = Object.fromEntries(names.map((name) => [name, 1]));
    expect(Object.keys(allowedAttributes(given, () => undefined))).to.deep.equal(Object.keys(given));
    expect(Object.keys(given)).to.have.lengthOf(40);
  });
});
