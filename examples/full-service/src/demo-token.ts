import type { Express } from "express";
import { SignJWT } from "jose";
import { unprocessable } from "@svc/problem";
import { demoTenants } from "./seed.ts";

/** How long a token of the demo lasts, in minutes. */
const lifetimeMinutes = 60;

/** What the service asks of a token; the environment may say otherwise than the file. */
export interface DemoTokenSettings {
  readonly secret: string;
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly tenantClaim: string;
  readonly scopeClaim: string;
  readonly rolesClaim: string;
}

/**
 * `GET /demo/token?tenant=harbour-cafe[&role=admin]` answers a token of somebody who works for that tenant, as text, so
 * that whoever tries the demo has one. Only for a demo on one's own machine: it asks nobody for a password.
 */
export function demoTokenRoute(app: Express, settings: DemoTokenSettings): void {
  const { secret, issuer, audience, tenantClaim, scopeClaim, rolesClaim } = settings;
  const key = new TextEncoder().encode(secret);
  app.get("/demo/token", async (req, res) => {
    const query = new URL(req.originalUrl, "http://localhost").searchParams;
    const tenant = query.get("tenant");
    const role = query.get("role");
    if (!demoTenants.some((each) => each === tenant)) {
      const msg = `must be one of ${demoTenants.join(", ")}`;
      throw unprocessable([{ type: "value", loc: ["query", "tenant"], msg }]);
    }
    if (role !== null && role !== "admin") {
      throw unprocessable([{ type: "value", loc: ["query", "role"], msg: "must be admin, or not there" }]);
    }
    const token = await new SignJWT({
      [tenantClaim]: tenant,
      [scopeClaim]: "expenses:read expenses:write",
      [rolesClaim]: role === null ? [] : [role],
    })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(`somebody-of-${tenant}`)
      .setIssuer(issuer)
      .setAudience(typeof audience === "string" ? audience : [...audience])
      .setIssuedAt()
      .setExpirationTime(`${lifetimeMinutes}m`)
      .sign(key);
    res.setHeader("Cache-Control", "no-store");
    res.type("text").send(token);
  });
}
