import { openSync } from "node:fs";
import { createServer } from "node:http";
import { devNull } from "node:os";
import rTracer from "cls-rtracer";
import express, { type Request } from "express";
import { auth, requiredScopes } from "express-oauth2-jwt-bearer";
import promBundle from "express-prom-bundle";
import helmet from "helmet";
import { pino } from "pino";
import { pinoHttp } from "pino-http";
import { Registry } from "prom-client";
import { expectEqual } from "../../harness/expect-equal.ts";
import type { Subject } from "../../harness/subject.ts";
import { createRevokedIds, mintTokens, scope, trafficWith } from "../access.ts";
import { type CallerClaims, errorsByHand, tenantByHand, type TenantRequest } from "../by-hand.ts";
import { httpSubject } from "../http-subject.ts";
import { proofOf } from "../proof.ts";
import { addGuardedRoute, routePath, type Seen, urlOf } from "../route.ts";
import { audience, createIssuer, issuerUrl, type TokenAlgorithm } from "../tokens.ts";

/**
 * Starts a common combination of other packages, with authentication and tenants. Setting: the algorithm of its tokens.
 */
export async function start(setting: string): Promise<Subject> {
  const algorithm: TokenAlgorithm = setting === "RS256" ? "RS256" : "HS256";
  const issuer = createIssuer(algorithm);
  const revoked = createRevokedIds();
  const tokens = mintTokens(issuer, 64);
  const traffic = trafficWith(tokens);
  const seen: Seen = {};
  const registry = new Registry();

  const app = express();
  app.use(helmet());
  app.use(rTracer.expressMiddleware({ echoHeader: true }));
  const logger = pino({ level: "warn" }, pino.destination(openSync(devNull, "w")));
  app.use(pinoHttp({ logger }));
  app.use(
    promBundle({
      includeMethod: true,
      includePath: true,
      promRegistry: registry,
      // By default express-prom-bundle guesses which path segments are ids, which costs more than the rest of it.
      normalizePath: (req) => (req.route as { path: string } | undefined)?.path ?? "none",
    }),
  );
  app.use(
    auth({
      issuer: issuerUrl,
      audience,
      tokenSigningAlg: algorithm,
      ...(issuer.publicKey === undefined ? { secret: issuer.secret } : { publicKey: issuer.publicKey }),
    }),
  );
  app.use(tenantByHand(revoked, (req) => (req.auth?.payload ?? {}) as CallerClaims));
  addGuardedRoute(app, [requiredScopes(scope)], seen, {
    tenant: (req: TenantRequest) => req.tenant,
    caller: (req: Request) => req.auth?.payload,
  });
  app.use(errorsByHand);

  const access = proofOf({
    access: { issuer, revoked, seen, tokens, remembers: false },
    headers: traffic.headers,
    securityHeaders: true,
  });
  return httpSubject(
    createServer(app),
    async (injector) => {
      await access(injector);
      const { headers } = await injector.send("GET", urlOf(0), traffic.headers);
      expectEqual("a request id", headers["x-request-id"] !== undefined, true);
      const text = await registry.metrics();
      expectEqual("the route in the metrics", text.includes(`path="${routePath}"`), true);
    },
    traffic,
  );
}
