import { ConfigurationError, defineOptions, fileOptions, kinds as k } from "@svc/options";
import { definePlugin, spanPart } from "@svc/plugin";
import type { Client } from "./client.ts";
import { clientOptions } from "./options.ts";

export type { Client } from "./client.ts";

/**
 * Returns the client of an upstream.
 *
 * @param name the name of its table, such as `billing` in `[plugin.http.upstreams.billing]`
 * @throws TypeError for a name without a table
 */
export type ClientOf = (name: string) => Client;

/** `[plugin.http]`: the services that this one calls, as `service.http("billing")`. */
export const httpPlugin = definePlugin({
  name: "http",
  uses: ["telemetry"],
  options: defineOptions("[plugin.http]", {
    /** The services that this one calls, by name. Default: none. */
    upstreams: {
      key: "upstreams",
      each: defineOptions("[plugin.http.upstreams]", fileOptions(clientOptions)),
    },
  }),
  async start(context) {
    const { upstreams } = context.options;
    const wrong = Object.keys(upstreams).filter((name) => !k.checkName.accepts(name));
    if (wrong.length > 0) {
      const message = `the name of an upstream must be ${k.checkName.expects}`;
      throw new ConfigurationError(
        "the service",
        wrong.map((name) => ({ key: `plugin.http.upstreams.${JSON.stringify(name)}`, message })),
      );
    }
    const { createClient } = await import("./client.ts");
    const span = spanPart(context);
    const { logger } = context;
    const clients = new Map<string, Client>(
      Object.entries(upstreams).map(([name, options]) => [
        name,
        createClient({ ...options, name, span, logger }),
      ]),
    );
    const http: ClientOf = (name) => {
      const client = clients.get(name);
      if (client !== undefined) return client;
      const known = [...clients.keys()].join(", ") || "none";
      throw new TypeError(`there is no upstream ${name} in [plugin.http.upstreams]; there are: ${known}`);
    };
    const all = [...clients.values()];
    return {
      parts: { http },
      checks: all.map((client) => client.readiness()),
      stop: ["close", async () => void (await Promise.all(all.map((client) => client.stop())))],
    };
  },
});
