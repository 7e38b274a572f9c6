import { type Middleware, pathOf } from "@svc/context";
import { defineOptions } from "@svc/options";
import { definePlugin, spanPart, upgradeOf } from "@svc/plugin";
import type { IncomingMessage } from "node:http";
import { routeOptions } from "./options.ts";

export type { Gateway } from "./gateway.ts";

/** Paths of every service. No route handles them, not even a route with the prefix `/health`. */
const SYSTEM_PATHS = ["/health", "/ready", "/info"];

const FORWARDED: unique symbol = Symbol("@svc/gateway/forwarded") as never;

interface JudgedRequest extends IncomingMessage {
  [FORWARDED]?: boolean;
}

/** `[plugin.gateway]`: passes requests on to other services, as `service.gateway`. */
export const gatewayPlugin = definePlugin({
  name: "gateway",
  uses: ["telemetry"],
  options: defineOptions("[plugin.gateway]", {
    /** The routes, by name. Default: none. */
    routes: { key: "routes", each: routeOptions },
  }),
  async start(context) {
    const { options, logger, service, systemPaths } = context;
    const { gateway } = await import("./gateway.ts");
    const made = gateway({ ...options, self: service.origins, span: spanPart(context), logger });
    let kept: ReadonlySet<string> | undefined;
    const judge = (req: IncomingMessage): boolean => {
      kept ??= new Set([...SYSTEM_PATHS, ...systemPaths()]);
      return made.routeOf(req) !== undefined && !kept.has(pathOf(req));
    };
    // Store the result, because the server, the body limit and the middleware each call this function.
    const isForwarded = (req: JudgedRequest): boolean => (req[FORWARDED] ??= judge(req));
    const admission: Middleware = (req, res, next) => {
      if (!isForwarded(req)) return next();
      const upgrade = upgradeOf(req);
      if (upgrade === undefined) made(req, res, next);
      else made.upgrade(req, upgrade.socket, upgrade.head, res);
    };
    return {
      parts: { gateway: made },
      admission,
      hasOwnLimits: isForwarded,
      checks: [made.readiness()],
      // Open WebSockets keep a server from closing, so close them when the service stops accepting work.
      work: [{ name: "gateway", start: () => undefined, stop: () => made.closeWebSockets() }],
      stop: ["close", () => made.stop()],
    };
  },
});
