import { createService } from "@svc/express";
import type { Hit } from "@svc/search-store";
import { DIMENSIONS, type Query } from "./generator.ts";
import { LIMIT } from "./side.ts";

export const TABLE = "plugin_chunks";
export const FILTER_KEYS = ["kind", "batch"];
/** Connections of each pool. The searches are sequential, so each side uses one. */
export const CONNECTIONS = 10;

/** A service with the plugin `rag`. */
export interface SearchService extends AsyncDisposable {
  /** Searches in the tenant of the current context. */
  readonly search: (query: Query) => Promise<readonly Hit[]>;
  /** Runs `work` in the span of a request, if the service is traced. */
  readonly around: <T>(work: () => Promise<T>) => Promise<T>;
  /** Returns the number of all spans so far. */
  readonly spans: () => number;
}

/**
 * Starts a service on a database that has the table.
 *
 * @param isTraced whether its searches and statements have spans, which stay in memory
 */
export async function startSearchService(url: string, isTraced: boolean): Promise<SearchService> {
  const service = await createService({
    config: {
      toml: `
[service]
name = "bench"
port = 0
drain_delay = 0
[plugins]
enabled = ["database", "rag"${isTraced ? ', "telemetry"' : ""}]
[plugin.database]
url = ${JSON.stringify(url)}
max = ${CONNECTIONS}
[plugin.rag]
table = "${TABLE}"
dimensions = ${DIMENSIONS}
filter_keys = ${JSON.stringify(FILTER_KEYS)}
maintain_every = 0
tenant = "-"
${isTraced ? '[plugin.telemetry]\nexporter = "memory"' : ""}
`,
    },
    env: { SVC_ENV: "prod" },
    signals: false,
    logDestination: { write: () => undefined },
    rag: { embed: () => Promise.reject(new Error("every query has a vector")) },
  });
  await service.start();
  const { search: bound, telemetry } = service;
  if (bound === undefined) throw new Error("the service has no search");
  return {
    search: ({ vector }) => bound.search({ vector, limit: LIMIT }),
    around: (work) => (telemetry === undefined ? work() : telemetry.span("GET /search", "server", {}, work)),
    spans: () => telemetry?.counts().exported ?? 0,
    async [Symbol.asyncDispose]() {
      await service.stop();
    },
  };
}
