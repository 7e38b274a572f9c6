import {
  boolean,
  defineOptions,
  inSeconds,
  integer,
  number,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { definePlugin } from "@svc/plugin";

export type { Database } from "./database.ts";

const seconds = inSeconds(number({ min: 0.001, max: 3600 }));
const milliseconds = number({ min: 1, max: 3_600_000 });

/** `[plugin.database]`: the service's connection pool, as `service.db`. */
export const databasePlugin = definePlugin({
  name: "database",
  options: defineOptions("[plugin.database]", {
    /** `postgres://...`; usually a reference such as `${DATABASE_URL}`. Required. */
    url: {
      key: "url",
      kind: secret(string({ pattern: /^postgres(ql)?:\/\//, expects: "a URL postgres://..." })),
    },
    /** The most connections. Default: 10. */
    max: { key: "max", kind: withDefault(integer({ min: 1, max: 1000 }), 10) },
    /** Time limit for opening a connection. Default: 2 seconds. */
    connectTimeoutMs: { key: "connect_timeout", kind: withDefault(milliseconds, 2000), inFile: seconds },
    /** Time limit for one statement. Default: 10 seconds. */
    statementTimeoutMs: {
      key: "statement_timeout",
      kind: withDefault(milliseconds, 10_000),
      inFile: seconds,
    },
    /** Time limit for getting a connection from the pool. Default: 2 seconds. */
    acquireTimeoutMs: { key: "acquire_timeout", kind: withDefault(milliseconds, 2000), inFile: seconds },
    /** Whether the service is unavailable without the database (RDY-13). Default: true. */
    critical: { key: "critical", kind: withDefault(boolean(), true) },
  }),
  async start({ options, service, logger }) {
    const { createDatabase } = await import("./database.ts");
    const db = createDatabase({ ...options, applicationName: service.name, logger });
    return { parts: { db }, checks: [db.readiness()], stop: ["close", () => db.stop()] };
  },
});
