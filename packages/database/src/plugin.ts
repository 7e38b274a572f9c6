import { defineOptions, kinds as k, pickOptions } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { databaseOptions } from "./options.ts";

export type { Database } from "./database.ts";

/** `[plugin.database]`: the service's connection pool, as `service.db`. */
export const databasePlugin = definePlugin({
  name: "database",
  options: defineOptions("[plugin.database]", {
    /** `postgres://...`, usually a reference such as `${DATABASE_URL}`. Required. */
    url: {
      key: "url",
      kind: k.secret(
        k.string({
          pattern: /^postgres(ql)?:\/\//,
          expects: "a URL that begins with postgres:// or postgresql://",
        }),
      ),
    },
    /** Maximum number of connections. Default: 10. */
    max: { key: "max", kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 10) },
    ...pickOptions(databaseOptions, "connectTimeoutMs", "statementTimeoutMs", "acquireTimeoutMs", "critical"),
  }),
  async start({ options, service, logger }) {
    const { createDatabase } = await import("./database.ts");
    const db = createDatabase({ ...options, applicationName: service.name, logger });
    return { parts: { db }, checks: [db.readiness()], stop: ["close", () => db.stop()] };
  },
});
