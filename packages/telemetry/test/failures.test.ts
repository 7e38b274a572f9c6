import { context } from "@opentelemetry/api";
import type { Logger } from "@svc/context";
import { collectingLogger, listen, rejection } from "@svc/test-support";
import { openOtlpReceiver } from "@svc/test-support/otlp";
import { expect } from "chai";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import pg from "pg";
import { createFailures, type Failures } from "../src/failures.ts";
import { serverSpans } from "../src/server-spans.ts";
import { createSpans } from "../src/spans.ts";
import { createQueryTracer } from "../src/sql/trace-queries.ts";
import { openTracing } from "./support/exporting.ts";
import { brokenContextManager, faultyOpenTelemetry, type FaultyOpenTelemetry } from "./support/faulty-api.ts";

function fail(): never {
  throw new Error("a fault");
}

const brokenLogger: Logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail } as never;

describe("failures of tracing", () => {
  it("TRACE-21 are counted, and logged at most once in ten seconds", () => {
    let time = 0;
    const logger = collectingLogger();
    const failures = createFailures({ logger, now: () => time });
    const report = (at: number): void => {
      time = at;
      failures.report(new Error(`at ${at}`));
    };
    for (const at of [0, 1, 9_999, 10_000, 15_000]) report(at);
    expect(failures.count).to.equal(5);
    expect(logger.lines.map(({ level, message, fields }) => [level, message, fields["suppressed"]])).to.eql([
      ["warn", "tracing failed; the request continues", 0],
      ["warn", "tracing failed; the request continues", 2],
    ]);
    expect(logger.lines[0]?.fields["err"]).to.include({ message: "at 0" });
  });

  it("TRACE-21 are counted when the logger and the clock throw, and without a logger", () => {
    for (const options of [
      { logger: brokenLogger, now: () => 0 },
      { logger: brokenLogger, now: fail },
      { logger: undefined, now: fail },
    ]) {
      const failures = createFailures(options);
      failures.report(new Error("a failure"));
      failures.report(undefined);
      expect(failures.count).to.equal(2);
    }
  });
});

/** A request whose handler runs a statement, a job that succeeds and one that fails. */
function createScenario(failures: Failures, { api, tracer }: FaultyOpenTelemetry) {
  const spans = createSpans({ api, tracer, failures, onDropped: () => undefined });
  const server = serverSpans(api, tracer, failures);
  const runs = { handlers: 0, jobs: 0, failedJobs: 0, statements: 0 };
  const pool = new pg.Pool();
  createQueryTracer({
    spans,
    isTracing: spans.isTracing,
    recordStatement: true,
    logFailure: (error) => failures.report(error),
  })(pool);
  const client = {
    query: async (text: string) => {
      runs.statements += 1;
      return { rows: [text], rowCount: 1 };
    },
  };
  pool.emit("acquire", client as never);

  async function handle(res: ServerResponse): Promise<void> {
    runs.handlers += 1;
    const { rows } = await client.query("select 1");
    const job = await spans.hook("job a", "consumer", { "svc.job.attempts": 1 }, async (span) => {
      runs.jobs += 1;
      span.set({ "storage.bytes": 1 });
      return "done";
    });
    const error = await rejection(() =>
      spans.hook("job b", "consumer", {}, () => {
        runs.failedJobs += 1;
        throw new Error("its own");
      }),
    );
    res.end(JSON.stringify([rows, job, error.message]));
  }
  let closed: Promise<unknown> | undefined;
  return {
    runs,
    /** Resolves when the last response has ended, and its span with it. */
    ended: () => closed,
    listener: (req: Parameters<typeof server>[0], res: ServerResponse): void => {
      closed = once(res, "close");
      server(req, res, () => void handle(res));
    },
  };
}

describe("a fault in any call of OpenTelemetry", () => {
  let otel: FaultyOpenTelemetry;
  before(() => (otel = faultyOpenTelemetry()));
  after(() => otel.release());

  for (const place of ["before", "after"] as const) {
    it(`TRACE-21 changes no response, job or statement when the call throws ${place} taking effect`, async () => {
      otel.arm(0, place);
      const failures = createFailures({ logger: undefined, now: () => 0 });
      const { runs, listener, ended } = createScenario(failures, otel);
      await using server = await listen(listener);
      let call = 0;
      do {
        call += 1;
        const before = failures.count;
        otel.arm(call, place);
        const response = await fetch(server.url);
        expect([response.status, await response.json()]).to.deep.equal([
          200,
          [["select 1"], "done", "its own"],
        ]);
        await ended();
        expect(runs).to.deep.equal({ handlers: call, jobs: call, failedJobs: call, statements: call });
        if (otel.thrown()) expect(failures.count, `call ${call}`).to.be.greaterThan(before);
      } while (otel.thrown());
      expect(call).to.be.greaterThan(50);
    });
  }
});

describe("telemetry() with a context manager whose every call throws", () => {
  before(() => context.setGlobalContextManager(brokenContextManager()));
  after(() => context.disable());

  it("TRACE-21 responds to requests, runs jobs once, counts the failures and exports", async () => {
    await using receiver = await openOtlpReceiver();
    await using tracing = await openTracing({
      tracesEndpoint: receiver.url,
      logger: brokenLogger,
      now: fail,
    });
    await using server = await listen((req, res) => tracing(req, res, () => res.end("answer")));
    for (let request = 0; request < 3; request++)
      expect(await (await fetch(server.url)).text()).to.equal("answer");
    let runs = 0;
    expect(tracing.span("job a", "consumer", {}, () => ++runs)).to.equal(1);
    const { meta } = await tracing.readiness().check(new AbortController().signal);
    expect(meta?.["failures"]).to.be.at.least(4);
    await tracing.stop();
    expect(tracing.counts()).to.include({ failedBatches: 0 });
  });
});
