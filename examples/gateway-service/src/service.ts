import type { Environment } from "@svc/config";
import type { ServiceOptions } from "@svc/express";
import { startPage } from "./start-page.ts";

/** Returns the options for `createService()`. */
export function gatewayService(env: Environment): ServiceOptions {
  return {
    kind: "gateway",
    config: new URL("../service.toml", import.meta.url),
    env,
    routes(app, { config }) {
      const hasTraces = config.plugin.telemetry?.exporter === "memory";
      app.get("/", (_req, res) => void res.type("html").send(startPage({ hasTraces })));
    },
  };
}
