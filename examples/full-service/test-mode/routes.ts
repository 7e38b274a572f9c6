import type { Service } from "@svc/express";
import { createClient } from "@svc/http-client";
import { requireScopes } from "@svc/jwt-auth";
import { notFoundError } from "@svc/problem";
import { memoryStore, rateLimit } from "@svc/rate-limit";
import { requestedTenant, requireTenant, tenantOf } from "@svc/tenancy";
import type { Express, Request, Response } from "express";
import type { SigningKeys } from "./signing-keys.ts";
import { hookStates, switchedLimits, type Switches } from "./switches.ts";

/** The message of the exception of `/test/failing`. No client may receive it. */
export const secretMessage = "the password of the vault is 1234";

/** The limit of `/test/limited`: the bucket regains one token per second. */
export const testLimit = { limit: 10, windowSeconds: 10 } as const;

/** Adds routes that exist only in the test mode. */
export function testRoutes(
  app: Express,
  { config, issuer, log, telemetry }: Service,
  keys: SigningKeys,
  switches: Switches,
): void {
  const timeoutMs = config.service.requestTimeoutSeconds * 1000;

  app.get("/test/failing", () => {
    throw new Error(secretMessage);
  });
  app.get("/test/slow", (_req, res) => {
    setTimeout(() => {
      if (!res.headersSent) res.json({});
    }, timeoutMs + 1000).unref();
  });
  app.get("/test/streaming", (_req, res) => {
    res.type("text").write("first ");
    setTimeout(() => res.end("last"), timeoutMs + 500).unref();
  });
  app.get("/test/outbound", async (req, res) => {
    const { to } = req.query;
    if (typeof to !== "string") throw notFoundError("the query names no URL to call");
    const { origin, pathname } = new URL(to);
    await using client = createClient({ name: "kit", baseUrl: origin, span: telemetry?.span });
    const { status } = await client.get(pathname);
    res.json({ status });
  });
  app.get("/test/scoped", requireScopes("expenses:read", "expenses:write"), (_req, res) => {
    res.json({});
  });
  app.get(["/test-tenant", "/t/:tenant/test-tenant"], requireTenant(), (req: Request, res: Response) => {
    res.json({ tenant: tenantOf(req) });
  });
  app.get("/test/requested-tenant", requestedTenant(), (_req, res) => {
    res.json({});
  });

  const limited = rateLimit({ ...testLimit, store: switchedLimits(memoryStore(), switches), logger: log });
  app.get("/test/limited", limited, (_req, res) => void res.json({}));

  app.post("/test/limits/:state", (req, res) => {
    switches.limitsAreOut = req.params.state === "break";
    res.json({});
  });
  app.post("/test/dependencies/:check/:state", (req, res) => {
    const { check, state } = req.params;
    if (state === "break") switches.broken.add(check);
    else switches.broken.delete(check);
    res.json({});
  });
  app.post("/test/hook/:state", (req, res) => {
    const state = hookStates.find((each) => each === req.params.state);
    if (state === undefined) throw notFoundError("the hook has no such state");
    switches.hook = state;
    res.json({});
  });
  app.post("/test/store/:state", (req, res) => {
    switches.storeIsOut = req.params.state === "break";
    res.json({});
  });
  app.post("/test/keys/:change", async (req: Request<{ change: string }>, res: Response) => {
    if (issuer === undefined) throw notFoundError("the service issues no tokens");
    await (req.params.change === "add" ? keys.add(issuer.keys) : keys.promote(issuer.keys));
    res.json({});
  });
}
