import { readFile } from "node:fs/promises";
import { createService } from "@svc/express";
import type { Middleware } from "@svc/context";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { createLogTap } from "../log-tap.ts";
import { proofOf } from "../proof.ts";
import { addRoute } from "../route.ts";

const exampleFile = new URL("../../../examples/full-service/service.toml", import.meta.url);

/** Starts a whole service, as the example configures it. Setting: `warn`, `info` or `no-etag`. */
export async function start(setting: string, middleware: readonly Middleware[] = []): Promise<Subject> {
  const level = setting === "info" ? "info" : "warn";
  const etag = setting !== "no-etag";
  const tap = createLogTap();
  const service = await createService({
    config: { toml: await exampleConfig(level, etag) },
    env: { SVC_ENV: "prod" },
    middleware,
    routes: addRoute,
    logDestination: tap,
    signals: false,
  });
  if (service.metrics === undefined) throw new Error("the example has no metrics");
  const claims = {
    requestId: true,
    registry: service.metrics.registry,
    log: { tap, logger: service.log, level },
    problems: true,
    securityHeaders: true,
    etag,
  } as const;
  return httpSubject(service.server, proofOf(claims));
}

/** Returns the example's configuration without the plugins that need a database, callers or tenants. */
async function exampleConfig(level: string, etag: boolean): Promise<string> {
  const leftOut = ["database", "auth", "tenancy", "queue", "events", "rollups", "rag"];
  const sections = (await readFile(exampleFile, "utf8")).split(/^(?=\[)/m);
  let toml = sections
    .filter((section) => !leftOut.some((name) => section.startsWith(`[plugin.${name}`)))
    .join("");
  const edit = (what: string, pattern: RegExp, replace: (...match: string[]) => string): void => {
    if (!pattern.test(toml)) throw new Error(`the example's file has no ${what} to replace`);
    toml = toml.replace(pattern, replace);
  };
  edit("list of plugins", /^enabled = (\[[^\]]*\])/m, (_line, names = "[]") => {
    const plugins = (JSON.parse(names) as readonly string[]).filter((name) => !leftOut.includes(name));
    return `enabled = ${JSON.stringify(plugins)}`;
  });
  edit("level", /^level = .*$/m, () => `level = "${level}"`);
  if (!etag) edit("section of the service", /^\[service\]$/m, () => "[service]\netag = false");
  return toml;
}
