import { createRequire } from "node:module";
import { PgInstrumentation } from "@opentelemetry/instrumentation-pg";
import type { PoolClient } from "pg";
import { expectEqual } from "../../harness/expect-equal.ts";
import { ours } from "../ours.ts";
import { stock } from "../stock.ts";
import type { TracedSubject } from "../traced-subject.ts";

/** The tracing of a case, and the URL of its database. The setting of the case contains it as JSON. */
export interface Traced {
  readonly by: "none" | "svc" | "stock";
  readonly url: string;
}

/** The tracing of a case. */
interface Tracing {
  /** Traces the pool, if the tracing needs a call for that. */
  readonly trace?: (pool: InstanceType<typeof import("pg").Pool>) => void;
  /** Runs statements inside an open span, which `spans()` does not count. */
  readonly within: (run: () => Promise<void>) => Promise<void>;
  readonly spans: () => Promise<number>;
  readonly perStatement: number;
}

const require = createRequire(import.meta.url);

/** Sends statements sequentially on one connection. */
export async function start(setting: string): Promise<TracedSubject> {
  const { by, url } = JSON.parse(setting) as Traced;
  const { trace, within, spans, perStatement } = await tracingOf(by);
  // Load the driver after its instrumentation is registered, as a preload script does.
  const { Pool } = require("pg") as typeof import("pg");
  const pool = new Pool({ connectionString: url, max: 1 });
  trace?.(pool);
  const client = await pool.connect();
  const run = (count: number): Promise<void> => within(() => send(client, count));
  return {
    async prove() {
      const before = await spans();
      await run(10);
      expectEqual("the spans of 10 statements", (await spans()) - before, 10 * perStatement);
    },
    run,
    spans,
  };
}

async function send(client: PoolClient, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { rows } = await client.query<{ int4: number }>("select $1::int", [n]);
    if (rows[0]?.int4 !== n) throw new Error(`the statement should return ${n}; got ${JSON.stringify(rows)}`);
  }
}

async function tracingOf(by: Traced["by"]): Promise<Tracing> {
  if (by === "none") return { within: (run) => run(), spans: async () => 0, perStatement: 0 };
  let outer = 0;
  if (by === "svc") {
    const tracing = await ours({ exporter: "memory" });
    return {
      trace: tracing.traceQueries,
      within(run) {
        outer += 1;
        return tracing.span("bench", "internal", {}, run);
      },
      spans: async () => tracing.counts().exported - outer,
      perStatement: 1,
    };
  }
  const { tracer, spans } = stock([new PgInstrumentation()]);
  return {
    within(run) {
      outer += 1;
      return tracer.startActiveSpan("bench", async (span) => {
        await run();
        span.end();
      });
    },
    spans: async () => (await spans()) - outer,
    perStatement: 1,
  };
}
