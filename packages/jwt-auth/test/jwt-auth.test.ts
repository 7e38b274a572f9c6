import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { openContext, type Middleware, type Principal } from "@svc/context";
import {
  currentPrincipal,
  jwtAuth,
  type JwtAuthOptions,
  optionalAuth,
  principalOf,
  requireAuth,
  requireRoles,
  requireScopes,
} from "@svc/jwt-auth";
import { requestId } from "@svc/request-id";
import { collectingLogger, listen } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { ask, bearer, serve, stacks } from "./support/stacks.ts";

const token = forge({ algorithm: "HS256", claims: { scope: "a b", roles: ["r"] } });
const options: JwtAuthOptions = { keys: everyKey(), algorithms: ["HS256"], audience: undefined, now };

/** One token per kind of defect. */
const badTokens: Readonly<Record<string, string>> = {
  "no token at all": "",
  "not a token": "nonsense",
  "too large": `${token}${"A".repeat(9_000)}`,
  "a crit header": forge({ algorithm: "HS256", header: { crit: ["b64"] } }),
  "another algorithm": forge({ algorithm: "RS256" }),
  "a kid that is not a string": forge({ algorithm: "HS256", header: { kid: 7 } }),
  "a bad signature": `${token.slice(0, -6)}AAAAAA`,
  "no subject": forge({ algorithm: "HS256", claims: { sub: undefined } }),
  "a subject of the wrong type": forge({ algorithm: "HS256", claims: { sub: 7 } }),
  expired: forge({ algorithm: "HS256", claims: { exp: 1_000 } }),
  "not yet valid": forge({ algorithm: "HS256", claims: { nbf: 1_900_000_000 } }),
  "issued in the future": forge({ algorithm: "HS256", claims: { iat: 1_900_000_000, exp: 1_900_000_900 } }),
  "a refresh token": forge({ algorithm: "HS256", claims: { typ: "refresh" } }),
  revoked: forge({ algorithm: "HS256", claims: { jti: "revoked" } }),
};

for (const stack of stacks) {
  describe(`jwtAuth() on ${stack}`, () => {
    const routes = {
      "/open": [],
      "/mixed": [optionalAuth()],
      "/me": [requireAuth()],
      "/scoped": [requireScopes("b", "a")],
      "/write": [requireScopes("b", "write", "a", "delete", "write")],
      "/admin": [requireRoles("owner", "admin")],
      "/role": [requireRoles("x", "r")],
    };

    it("puts the caller that a bearer token identifies into the context (AUTH-1, AUTH-14, AUTH-33)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const { status, body } = await ask(`${server.url}/me`, bearer(token));
      expect([status, body.caller, body.inContext]).to.eql([200, "ada", true]);
    });

    it("must be mounted, because guards return 401 without it (AUTH-1, AUTH-14)", async () => {
      await using server = await serve(stack, [], routes);
      expect((await ask(`${server.url}/open`, bearer(token))).body.caller).to.equal(null);
      for (const path of ["/me", "/scoped", "/admin"]) {
        expect((await ask(server.url + path, bearer(token))).status, path).to.equal(401);
      }
      expect((await ask(`${server.url}/mixed`, bearer(token))).status).to.equal(200);
    });

    it("ignores a bad token on a route without a guard or with optionalAuth() (AUTH-12, AUTH-17)", async () => {
      const revocation = { isRevoked: ({ jti }: { jti: string | undefined }) => jti === "revoked" };
      await using server = await serve(stack, [jwtAuth({ ...options, revocation })], routes);
      for (const [why, bad] of Object.entries(badTokens)) {
        for (const path of ["/open", "/mixed"]) {
          const { status, body } = await ask(server.url + path, bearer(bad));
          expect([status, body.caller], `${why} on ${path}`).to.eql([200, null]);
        }
      }
    });

    it("passes the caller, if there is one, to a route with optionalAuth() (AUTH-17)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      expect((await ask(`${server.url}/mixed`, bearer(token))).body.caller).to.equal("ada");
      expect((await ask(`${server.url}/mixed`)).body.caller).to.equal(null);
    });

    it("returns the same 401 for every bad token, and logs the reason (AUTH-11)", async () => {
      const logger = collectingLogger();
      const revocation = { isRevoked: ({ jti }: { jti: string | undefined }) => jti === "revoked" };
      const auth = jwtAuth({ ...options, revocation, logger });
      await using server = await serve(stack, [requestId(), auth], routes);
      const bare = await ask(`${server.url}/me`, { "X-Request-ID": "r" });
      expect(bare.status).to.equal(401);
      const reasons = new Set<unknown>();
      for (const [why, bad] of Object.entries(badTokens)) {
        const before = logger.lines.length;
        const refused = await ask(`${server.url}/me`, { ...bearer(bad), "X-Request-ID": "r" });
        expect(refused.text, why).to.equal(bare.text);
        expect(wire(refused.headers), why).to.eql(wire(bare.headers));
        const lines = logger.lines.slice(before);
        expect(lines.map(({ level, message }) => [level, message])).to.eql([
          ["info", "bearer token refused"],
        ]);
        expect(lines[0]?.fields["request_id"]).to.equal("r");
        reasons.add(lines[0]?.fields["reason"]);
      }
      expect(bare.headers.get("www-authenticate")).to.equal("Bearer");
      expect(bare.body.detail).to.equal("authentication required");
      expect([...reasons]).to.include.members(["malformed", "too_large", "signature", "expired", "revoked"]);
      expect(reasons.size).to.be.at.least(11);
    });

    it("logs no part of a token (AUTH-11)", async () => {
      const logger = collectingLogger();
      await using server = await serve(stack, [jwtAuth({ ...options, logger })], routes, logger);
      for (const bad of Object.values(badTokens)) await ask(`${server.url}/me`, bearer(bad));
      const text = JSON.stringify(logger.lines);
      for (const bad of Object.values(badTokens)) {
        for (const part of bad.split("."))
          if (part.length > 8) expect(text).to.not.include(part.slice(0, 12));
      }
    });

    it("makes requireScopes() return 401 without a caller, and 403 if a listed scope is missing (AUTH-13, AUTH-15)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      expect((await ask(`${server.url}/scoped`)).status).to.equal(401);
      expect((await ask(`${server.url}/scoped`, bearer(token))).status).to.equal(200);
      expect((await ask(`${server.url}/write`, bearer(token))).status).to.equal(403);
    });

    it("makes requireScopes() name the missing scopes, sorted and without duplicates (ERR-13)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const { body } = await ask(`${server.url}/write`, bearer(token));
      expect(body.detail).to.equal("missing scope(s): delete, write");
      expect(body.missing_scopes).to.eql(["delete", "write"]);
    });

    it("makes requireRoles() return 401 without a caller, and 403 without any of the listed roles (AUTH-13, AUTH-16, ERR-14)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      expect((await ask(`${server.url}/admin`)).status).to.equal(401);
      const { status, body } = await ask(`${server.url}/admin`, bearer(token));
      expect([status, body.detail]).to.eql([403, "requires one of: admin, owner"]);
      expect((await ask(`${server.url}/role`, bearer(token))).status).to.equal(200);
    });

    it("makes currentPrincipal() return the caller, or throw the 401 of requireAuth() (AUTH-18)", async () => {
      const reads: Middleware = (_req, _res, next) => {
        setImmediate(() => {
          try {
            next(currentPrincipal().subject === "ada" ? undefined : new Error("somebody else"));
          } catch (error) {
            next(error);
          }
        });
      };
      const all = { "/reads": [reads], "/me": [requireAuth()] };
      await using server = await serve(stack, [jwtAuth(options)], all);
      expect((await ask(`${server.url}/reads`, bearer(token))).status).to.equal(200);
      const own = await ask(`${server.url}/reads`, { "X-Request-ID": "r" });
      const guarded = await ask(`${server.url}/me`, { "X-Request-ID": "r" });
      expect(own.status).to.equal(401);
      expect(own.text.replace("/reads", "/me")).to.equal(guarded.text);
    });

    it("passes the nine fields of the principal to a route (AUTH-19)", async () => {
      const whole = forge({
        algorithm: "HS256",
        claims: {
          scope: "a",
          roles: ["r"],
          tenant_id: "t",
          jti: "j",
          fam: "f",
          iss: "i",
          exp: 1_800_000_900,
        },
      });
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const { claims, ...fields } = (await ask(`${server.url}/me`, bearer(whole))).body.principal ?? fail();
      expect(fields).to.eql({
        subject: "ada",
        scopes: ["a"],
        roles: ["r"],
        tenant: "t",
        tokenId: "j",
        family: "f",
        issuer: "i",
        expiresAt: 1_800_000_900,
      });
      expect(claims).to.include({ sub: "ada", jti: "j" });
    });

    it("continues in the context of the request after waiting for a key or signature", async () => {
      const slow = { ...everyKey(), find: () => undefined };
      const refresh = async (_: unknown, algorithm: "HS256") => {
        await new Promise(setImmediate);
        return everyKey().find(undefined, algorithm);
      };
      const auth = jwtAuth({ ...options, keys: { ...slow, refresh: refresh as never } });
      const curve = jwtAuth({ ...options, algorithms: ["ES256"] });
      await using server = await serve(stack, [auth], routes);
      await using second = await serve(stack, [requestId(), curve], routes);
      const first = await ask(`${server.url}/me`, bearer(token));
      const other = await ask(`${second.url}/me`, bearer(forge({ algorithm: "ES256" })));
      const refused = await ask(`${second.url}/open`, bearer(token));
      expect([first.body.caller, first.body.inContext]).to.eql(["ada", true]);
      expect([other.body.caller, other.body.inContext]).to.eql(["ada", true]);
      expect([refused.body.caller, refused.body.inContext]).to.eql([null, true]);
    });

    it("refuses the token when keys cannot be fetched or the source throws (AUTH-11)", async () => {
      const rejects = {
        generation: 0,
        find: () => undefined,
        refresh: () => Promise.reject(new Error("down")),
      };
      const throws = {
        generation: 0,
        find: () => {
          throw new Error("broken");
        },
      };
      for (const keys of [rejects, throws]) {
        const logger = collectingLogger();
        await using server = await serve(stack, [jwtAuth({ ...options, keys, logger })], routes);
        expect((await ask(`${server.url}/me`, bearer(token))).status).to.equal(401);
        expect((await ask(`${server.url}/open`, bearer(token))).status).to.equal(200);
        expect(logger.lines.at(-1)?.fields["reason"]).to.equal("keys_unavailable");
      }
    });

    it("keeps a caller that is already in the context", async () => {
      let asked = 0;
      const keys = everyKey();
      const counting = {
        ...keys,
        find: (kid: undefined, algorithm: "HS256") => (asked++, keys.find(kid, algorithm)),
      };
      const auth = jwtAuth({ ...options, keys: counting as never, cacheTokens: 0 });
      const other: Middleware = (req, _res, next) => {
        openContext(req).principal = { subject: "somebody" } as Principal;
        next();
      };
      await using twice = await serve(stack, [auth, auth], routes);
      expect((await ask(`${twice.url}/me`, bearer(token))).body.caller).to.equal("ada");
      expect(asked).to.equal(1);
      await using given = await serve(stack, [other, auth], routes);
      expect((await ask(`${given.url}/me`, bearer(token))).body.caller).to.equal("somebody");
    });

    it("finds the caller in a second instance when the first instance refuses the token", async () => {
      const logger = collectingLogger();
      const first = jwtAuth({ ...options, issuer: "one", logger });
      const second = jwtAuth({ ...options, issuer: "two", logger });
      await using server = await serve(stack, [first, second], routes);
      const two = forge({ algorithm: "HS256", claims: { iss: "two" } });
      expect((await ask(`${server.url}/me`, bearer(two))).body.caller).to.equal("ada");
      const before = logger.lines.length;
      expect((await ask(`${server.url}/me`, bearer(token))).status).to.equal(401);
      expect(logger.lines.slice(before), "one line a request").to.have.length(1);
    });

    it("keeps serving after clients have disconnected while it waited for a key", async () => {
      let release = (): void => undefined;
      const waiting = new Promise<void>((resolve) => (release = resolve));
      let arrived = 0;
      const keys = {
        generation: 0,
        find: () => undefined,
        refresh: async () => {
          arrived += 1;
          await waiting;
          return everyKey().find(undefined, "HS256");
        },
      };
      await using server = await serve(stack, [jwtAuth({ ...options, keys })], routes);
      const sockets = Array.from({ length: 10 }, () => connect(server.port, "127.0.0.1"));
      for (const socket of sockets) {
        socket.on("error", () => undefined);
        socket.write(`GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      }
      while (arrived < sockets.length) await new Promise(setImmediate);
      for (const socket of sockets) {
        socket.resetAndDestroy();
        if (!socket.destroyed) await once(socket, "close");
      }
      release();
      expect((await ask(`${server.url}/me`, bearer(token))).body.caller).to.equal("ada");
    });
  });
}

describe("jwtAuth()", () => {
  it("calls next() synchronously when the verifier returns synchronously", async () => {
    const auth = jwtAuth(options);
    const order: string[] = [];
    await using server = await listen((req, res) => {
      auth(req, res, () => order.push("next"));
      order.push("after");
      res.end("{}");
    });
    await ask(server.url, bearer(token));
    await ask(server.url, bearer("nonsense"));
    expect(order).to.eql(["next", "after", "next", "after"]);
  });

  it("prefers the logger of the context to the logger option (AUTH-11)", async () => {
    const own = collectingLogger();
    const logger = collectingLogger();
    const gives: Middleware = (req, _res, next) => {
      openContext(req).log = own;
      next();
    };
    await using server = await serve("bare http", [gives, jwtAuth({ ...options, logger })], {});
    await ask(server.url, bearer("nonsense"));
    expect(own.at("info")).to.eql(["bearer token refused"]);
    expect(logger.at("info")).to.eql([]);
  });

  it("responds even when the logger throws", async () => {
    const logger = collectingLogger();
    const fails = (): never => {
      throw new Error("disk full");
    };
    const rejects = (): never => Promise.reject(new Error("disk full")) as never;
    for (const info of [fails, rejects]) {
      const auth = jwtAuth({ ...options, logger: { ...logger, info } });
      await using server = await serve("bare http", [auth], {});
      expect((await ask(server.url, bearer("nonsense"))).status).to.equal(200);
    }
  });

  it("exposes its verifier for tokens from other sources", () => {
    const { verifier } = jwtAuth(options);
    expect(verifier.verify(token)).to.have.nested.property("principal.subject", "ada");
  });
});

function wire(headers: Headers): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => name !== "date"));
}

function fail(): never {
  throw new Error("the route saw no principal");
}

describe("jwtAuth() with a polluted Object.prototype", () => {
  it("finds no caller for a bad token (AUTH-12)", () => {
    const auth = jwtAuth(options);
    const callers: unknown[] = [];
    const ways = [badTokens["a bad signature"], badTokens.expired, "nonsense", ""];
    const polluted = Object.prototype as { principal?: object };
    try {
      polluted.principal = { subject: "mallory", scopes: ["a"], roles: ["r"] };
      for (const each of ways) {
        const req = new IncomingMessage(new Socket());
        req.headers.authorization = `Bearer ${each}`;
        auth(req, new ServerResponse(req), () => callers.push(principalOf(req)));
      }
    } finally {
      delete polluted.principal;
    }
    expect(callers).to.eql(ways.map(() => undefined));
  });
});
