import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { jwtAuth, requireAuth, type RevocationCheck } from "@svc/jwt-auth";
import { problemHandler } from "@svc/problem";
import { createRedisTokenStore } from "@svc/token-store/redis";
import express from "express";
import { Redis } from "ioredis";
import { expectEqual } from "../../harness/expect-equal.ts";
import { createInjector, type Injector } from "../../harness/injector.ts";
import type { Subject } from "../../harness/subject.ts";
import { callerHeaders } from "../../http/access.ts";
import { addRoute, routePath, trafficOf, urlOf } from "../../http/route.ts";
import { audience, type Claims, claimsFor, createIssuer, type Issuer, issuerUrl } from "../../http/tokens.ts";
import { IN_FLIGHT } from "../in-flight.ts";
import { openStore, type Place } from "../stores.ts";
import { tampered } from "../issuing.ts";

/** Sends requests with tokens that are already verified, with many checks in flight. The setting is the store and its address. */
export async function start(setting: string): Promise<Subject> {
  const place = JSON.parse(setting) as Place;
  const issuer = createIssuer("HS256");
  const app = express();
  app.use(
    jwtAuth({
      mode: "secret",
      secret: issuer.secret,
      algorithms: ["HS256"],
      issuer: issuerUrl,
      audience,
      revocation: await checkOf(place),
      revocationFailOpen: false,
    }),
  );
  app.use(routePath, requireAuth());
  addRoute(app);
  app.use(problemHandler());
  const injector = createInjector(createServer(app));
  const tokens = Array.from({ length: 64 }, () => issuer.mint(sessionClaims()));
  const { requests } = trafficOf(tokens.map((token) => callerHeaders(token, undefined)));
  return {
    prove: () => proveChecks(injector, issuer, place),
    run: (count) => injector.run(requests, count, IN_FLIGHT),
  };
}

function sessionClaims(): Claims {
  return { ...claimsFor("tenant-00"), fam: randomUUID() };
}

async function checkOf(place: Place): Promise<RevocationCheck | undefined> {
  if (place.store === "none") return undefined;
  if (place.store === "ioredis") return byHand(place);
  return openStore(place);
}

/** Returns the cheapest possible check: one command of the Redis client. */
function byHand({ url, keyPrefix }: { readonly url: string; readonly keyPrefix: string }): RevocationCheck {
  const redis = new Redis(url, { enableAutoPipelining: true });
  const prefix = `${keyPrefix}svc:auth:`;
  return {
    isRevoked: ({ jti, fam, sub, signedInAt }) =>
      redis
        .mget(`${prefix}s:{${sub}}`, `${prefix}f:{${fam}}`, `${prefix}j:{${jti}}`)
        .then(
          ([notBefore, family, token]) =>
            (typeof notBefore === "string" && signedInAt < Number(notBefore)) ||
            typeof family === "string" ||
            typeof token === "string",
        ),
  };
}

async function proveChecks(injector: Injector, issuer: Issuer, place: Place): Promise<void> {
  const good = issuer.mint(sessionClaims());
  expectEqual("the status for no token", await statusOf(undefined), 401);
  expectEqual("the status for a bad signature", await statusOf(tampered(good)), 401);
  for (let time = 0; time < 2; time++) expectEqual("the status for a good token", await statusOf(good), 200);
  if (place.store !== "redis" && place.store !== "ioredis") return;
  // Revokes tokens as another replica would, which the tested service must notice.
  const redis = new Redis(place.url, { keyPrefix: place.keyPrefix });
  const store = createRedisTokenStore({ redis });
  const until = Math.floor(Date.now() / 1000);
  for (const end of [
    ({ jti }: Claims) => store.revoke(String(jti), 60),
    ({ fam }: Claims) => store.revokeFamily(String(fam), 60),
    ({ sub }: Claims) => store.revokeSubject(String(sub), until, 60),
  ]) {
    const claims = sessionClaims();
    const token = issuer.mint(claims);
    expectEqual("the status before a revocation", await statusOf(token), 200);
    await end(claims);
    expectEqual("the status after a revocation", await statusOf(token), 401);
  }
  await redis.quit();

  async function statusOf(token: string | undefined): Promise<number> {
    return (await injector.send("GET", urlOf(0), callerHeaders(token, undefined))).status;
  }
}
