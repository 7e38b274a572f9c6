import { createServer } from "node:http";
import { tune } from "@svc/express";
import { health } from "@svc/health";
import { jwtAuth, principalOf, requireScopes, type RevocationCheck } from "@svc/jwt-auth";
import { accessLog, createLogger } from "@svc/log";
import { metrics } from "@svc/metrics";
import { notFound, problemHandler } from "@svc/problem";
import { requestId } from "@svc/request-id";
import { requireTenant, tenancy, tenantOf } from "@svc/tenancy";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { baseDomain, createRevokedIds, mintTokens, scope, trafficWith } from "../access.ts";
import { httpSubject } from "../http-subject.ts";
import { createLogTap } from "../log-tap.ts";
import { proofOf } from "../proof.ts";
import { addGuardedRoute, type Seen } from "../route.ts";
import { audience, createIssuer, issuerUrl } from "../tokens.ts";

/**
 * Starts an application that uses the single packages, with authentication and tenants. Setting: `cached`, `uncached` for a
 * verifier that remembers no token, `info` for one log line per request, or `tuned` for an application passed to `tune()`.
 */
export async function start(setting: string): Promise<Subject> {
  const level = setting === "info" ? "info" : "warn";
  const remembers = setting !== "uncached";
  const issuer = createIssuer("HS256");
  const revoked = createRevokedIds();
  const revocation: RevocationCheck = { isRevoked: ({ jti }) => jti !== undefined && revoked.has(jti) };
  const tokens = mintTokens(issuer, 64);
  const traffic = trafficWith(tokens);
  const seen: Seen = {};
  const tap = createLogTap();
  const logger = createLogger({ service: "bench", env: "prod", level, destination: tap });
  const counted = metrics({ service: "bench", version: "1.0.0" });
  const auth = jwtAuth({
    mode: "secret",
    secret: issuer.secret,
    algorithms: ["HS256"],
    issuer: issuerUrl,
    audience,
    cacheTokens: remembers ? undefined : 0,
    revocation,
    logger,
  });

  const app = express();
  const classes = setting === "tuned" ? tune(app) : {};
  app.use(requestId());
  app.use(accessLog({ logger }));
  app.use(counted);
  app.use(auth);
  app.use(tenancy({ baseDomain, logger }));
  addGuardedRoute(app, [requireScopes(scope), requireTenant()], seen, {
    tenant: tenantOf,
    caller: principalOf,
  });
  app.use(health({ service: "bench", version: "1.0.0", env: "prod" }));
  app.use(notFound());
  app.use(problemHandler({ logger }));
  const claims = {
    requestId: true,
    registry: counted.registry,
    log: { tap, logger, level },
    problems: true,
    access: { issuer, revoked, seen, tokens, remembers },
    headers: traffic.headers,
  } as const;
  return httpSubject(createServer(classes, app), proofOf(claims), traffic);
}
