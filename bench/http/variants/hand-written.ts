import { createSecretKey } from "node:crypto";
import { createServer } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import jwt from "jsonwebtoken";
import type { Subject } from "../../harness/subject.ts";
import { createRevokedIds, mintTokens, scope, trafficWith } from "../access.ts";
import { type CallerClaims, errorsByHand, tenantByHand, type TenantRequest } from "../by-hand.ts";
import { httpSubject } from "../http-subject.ts";
import { proofOf } from "../proof.ts";
import { addGuardedRoute, type Seen } from "../route.ts";
import { audience, createIssuer, issuerUrl } from "../tokens.ts";

interface CallerRequest extends TenantRequest {
  caller?: CallerClaims;
}

/**
 * Starts bare Express 5 that only checks a token and a tenant with handwritten code. Setting: `string` passes the
 * secret to jsonwebtoken as a string, as its documentation does; `key-object` passes it as a key object that is created
 * once.
 */
export async function start(setting: string): Promise<Subject> {
  const issuer = createIssuer("HS256");
  const revoked = createRevokedIds();
  const tokens = mintTokens(issuer, 64);
  const traffic = trafficWith(tokens);
  const key = setting === "string" ? issuer.secret : createSecretKey(Buffer.from(issuer.secret));
  const seen: Seen = {};

  const authenticate: RequestHandler = function authenticate(req: CallerRequest, res, next) {
    const header = req.headers.authorization ?? "";
    try {
      if (!header.startsWith("Bearer ")) throw new Error("no token");
      const claims = jwt.verify(header.slice(7), key, {
        algorithms: ["HS256"],
        issuer: issuerUrl,
        audience,
        clockTolerance: 30,
      });
      if (typeof claims === "string" || claims.exp === undefined) throw new Error("no claims");
      req.caller = claims as CallerClaims;
    } catch {
      res.status(401).json({ error: "unauthorized" });
      return;
    }
    next();
  };
  const requireScope: RequestHandler = function requireScope(req: CallerRequest, res, next) {
    if (req.caller?.scope?.split(" ").includes(scope) === true) next();
    else res.status(403).json({ error: "forbidden" });
  };

  const app = express();
  app.use(authenticate);
  app.use(tenantByHand(revoked, (req: CallerRequest) => req.caller ?? {}));
  addGuardedRoute(app, [requireScope], seen, {
    tenant: (req: TenantRequest) => req.tenant,
    caller: (req: Request) => (req as CallerRequest).caller,
  });
  app.use(errorsByHand);
  const claims = { access: { issuer, revoked, seen, tokens, remembers: false }, headers: traffic.headers };
  return httpSubject(createServer(app), proofOf(claims), traffic);
}
