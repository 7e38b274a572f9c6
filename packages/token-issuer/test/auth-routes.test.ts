import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { contextOf, type Middleware } from "@svc/context";
import { routeTemplateOf } from "@svc/route-template";
import { createKeyRing, type TokenPair } from "@svc/token-issuer";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { ada, altered, claimsOf, expectPair, issuing } from "./support/issuing.ts";
import { type Answer, ask, bearer, json, serve, stacks } from "./support/stacks.ts";

function refreshWith(url: string, token: unknown): Promise<Answer> {
  return ask(`${url}/auth/refresh`, json({ refresh_token: token }));
}

for (const stack of stacks) {
  describe(`authRoutes() on ${stack}`, () => {
    it("returns a new pair with Cache-Control: no-store for a refresh (REF-1, REF-2)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const first = await each.issuer.issuePair(ada);
      const { status, headers, body, text } = await refreshWith(server.url, first.refresh_token);
      expect(status).to.equal(200);
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("content-type")).to.equal("application/json");
      const pair = JSON.parse(text) as TokenPair;
      expectPair(pair);
      expect(body).to.include({ token_type: "Bearer", expires_in: 900 });
      const me = await ask(`${server.url}/auth/me`, bearer(pair.access_token));
      expect(me.status).to.equal(200);
    });

    it("returns 401 with a specific message for every kind of rejected token (REF-13)", async () => {
      let declined = false;
      const each = issuing({ onRefresh: () => (declined ? undefined : { scopes: [] }) });
      const { issuer, keys, clock } = each;
      await using server = await serve(stack, each);
      const tokens = [];
      for (let index = 0; index < 4; index += 1) tokens.push(await issuer.issuePair(ada));
      const [a, b, c, d] = tokens as [TokenPair, TokenPair, TokenPair, TokenPair];
      const said: string[] = [];
      const present = async (token: string): Promise<void> => {
        const { status, headers, body } = await refreshWith(server.url, token);
        const { request_id, ...rest } = body;
        expect(request_id).to.be.a("string");
        expect(headers.get("content-type")).to.equal("application/problem+json");
        expect(headers.get("www-authenticate")).to.equal("Bearer");
        expect(headers.get("cache-control")).to.equal("no-store");
        const { detail, ...fixed } = rest;
        expect([status, fixed]).to.eql([
          401,
          { type: "about:blank", title: "Unauthorized", status: 401, instance: "/auth/refresh" },
        ]);
        said.push(String(detail));
      };
      await present("nonsense");
      await present(a.access_token);
      await present(await altered(keys, a.refresh_token, { jti: undefined }));
      await present(await altered(keys, a.refresh_token, { fam: undefined }));
      await present(await altered(keys, a.refresh_token, { grt: undefined }));
      await issuer.revokeSession(String(claimsOf(b.access_token)["fam"]));
      await present(b.refresh_token);
      await issuer.refresh(c.refresh_token);
      await present(c.refresh_token);
      clock.forward(11);
      await present(c.refresh_token);
      declined = true;
      await present(d.refresh_token);
      expect(said).to.eql([
        "invalid refresh token",
        "an access token cannot be used to refresh",
        "refresh token has no id",
        "refresh token carries no session family",
        "this refresh token predates scope-preserving rotation",
        "this session has been revoked",
        "this refresh token has already been rotated",
        "this session has been revoked",
        "this session is no longer valid",
      ]);
    });

    it("returns 500 when the hook throws, and accepts the same token afterwards (REF-11)", async () => {
      let throws = true;
      const each = issuing({
        onRefresh: () => {
          if (throws) throw new Error("hunter2");
          return { scopes: ["a"] };
        },
      });
      await using server = await serve(stack, each);
      const { refresh_token } = await each.issuer.issuePair(ada);
      const failed = await refreshWith(server.url, refresh_token);
      expect([failed.status, failed.body["detail"]]).to.eql([500, "An unexpected error occurred"]);
      throws = false;
      expect((await refreshWith(server.url, refresh_token)).status).to.equal(200);
    });

    it("runs the hook in the context of the request (REF-9)", async () => {
      const seen: unknown[] = [];
      const { currentContext } = await import("@svc/context");
      const each = issuing({
        onRefresh: () => {
          seen.push(currentContext()?.requestId);
          return { scopes: [] };
        },
      });
      const named: Middleware = (req, _res, next) => {
        next();
        const context = contextOf(req);
        if (context !== undefined) context.requestId = "the-request";
      };
      await using server = await serve(stack, each, undefined, [named]);
      await refreshWith(server.url, (await each.issuer.issuePair(ada)).refresh_token);
      expect(seen).to.eql(["the-request"]);
    });

    it("returns 204 on logout and rejects both tokens of the session afterwards (ISS-5, ISS-7, ISS-8)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const [phone, laptop] = [await each.issuer.issuePair(ada), await each.issuer.issuePair(ada)];
      const out = await ask(`${server.url}/auth/logout`, { method: "POST", ...bearer(phone.access_token) });
      expect([out.status, out.text, out.headers.get("cache-control")]).to.eql([204, "", "no-store"]);
      expect((await ask(`${server.url}/auth/me`, bearer(phone.access_token))).status).to.equal(401);
      expect((await refreshWith(server.url, phone.refresh_token)).body["detail"]).to.equal(
        "this session has been revoked",
      );
      expect((await ask(`${server.url}/auth/me`, bearer(laptop.access_token))).status).to.equal(200);
    });

    it("returns 204 on logout for tokens of another issuer without fam or jti (ISS-6, ISS-8)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const { access_token } = await each.issuer.issuePair(ada);
      const only = await altered(each.keys, access_token, { fam: undefined });
      const bare = await altered(each.keys, access_token, { fam: undefined, jti: undefined });
      for (const [token, after] of [
        [only, 401],
        [bare, 200],
      ] as const) {
        const out = await ask(`${server.url}/auth/logout`, { method: "POST", ...bearer(token) });
        expect(out.status).to.equal(204);
        expect((await ask(`${server.url}/auth/me`, bearer(token))).status).to.equal(after);
      }
    });

    it("serves no sign-in route (ISS-1)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const { access_token } = await each.issuer.issuePair(ada);
      for (const path of ["/auth/login", "/auth/sign-in", "/auth/token", "/auth/users"]) {
        const { status } = await ask(`${server.url}${path}`, { method: "POST", ...bearer(access_token) });
        expect(status, path).to.equal(404);
      }
    });

    it("returns 401 for logout and me without a verified caller (ISS-5, AUTH-13)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const { refresh_token } = await each.issuer.issuePair(ada);
      for (const init of [{}, bearer("nonsense"), bearer(refresh_token)]) {
        const out = await ask(`${server.url}/auth/logout`, { method: "POST", ...init });
        const me = await ask(`${server.url}/auth/me`, init);
        for (const answer of [out, me]) {
          expect([answer.status, answer.body["detail"], answer.headers.get("www-authenticate")]).to.eql([
            401,
            "authentication required",
            "Bearer",
          ]);
        }
      }
    });

    it("returns 503 with Retry-After while the store is down, even if the verifier still accepts tokens (ISS-17, REF-17)", async () => {
      const each = issuing();
      const { issuer, store } = each;
      const out = (): never => {
        throw new Error("hunter2");
      };
      await using server = await serve(stack, each);
      const pair = await issuer.issuePair(ada);
      const methods = ["isRevoked", "revoke", "revokeFamily", "rotate"] as const;
      const working = Object.fromEntries(methods.map((name) => [name, store[name]]));
      Object.assign(store, Object.fromEntries(methods.map((name) => [name, out])));
      expect((await ask(`${server.url}/auth/me`, bearer(pair.access_token))).status).to.equal(200);
      const logout = await ask(`${server.url}/auth/logout`, {
        method: "POST",
        ...bearer(pair.access_token),
      });
      const refresh = await refreshWith(server.url, pair.refresh_token);
      for (const { status, headers, body } of [logout, refresh]) {
        expect([status, body["title"], body["detail"]]).to.eql([
          503,
          "Service Unavailable",
          "the revocation store is not answering; retry shortly",
        ]);
        expect(Number(headers.get("retry-after"))).to.be.at.least(1);
      }
      Object.assign(store, working);
      expect((await refreshWith(server.url, pair.refresh_token)).status).to.equal(200);
    });

    it("returns the identity of the caller (ISS-9)", async () => {
      const each = issuing();
      await using server = await serve(stack, each);
      const { access_token } = await each.issuer.issuePair({
        subject: "ada",
        scopes: ["b", "a"],
        roles: ["z", "y"],
        tenant: "acme",
      });
      const me = await ask(`${server.url}/auth/me`, bearer(access_token));
      expect(me.headers.get("cache-control")).to.equal("no-store");
      const token_id = claimsOf(access_token)["jti"];
      expect(me.text).to.equal(
        JSON.stringify({
          subject: "ada",
          tenant_id: "acme",
          scopes: ["a", "b"],
          roles: ["y", "z"],
          token_id,
        }),
      );
      const bare = await each.issuer.issuePair({ subject: "bo" });
      const other = await ask(`${server.url}/auth/me`, bearer(bare.access_token));
      expect(other.body).to.include({ tenant_id: null });
    });

    it("publishes the key set without private members, and returns 304 for its entity tag (ISS-15)", async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const keys = createKeyRing({ privateKey: pem, env: "local" });
      await using server = await serve(stack, issuing({ keys }));
      const url = `${server.url}/.well-known/jwks.json`;
      const { status, headers, body } = await ask(url);
      expect(status).to.equal(200);
      expect(headers.get("cache-control")).to.equal("public, max-age=60");
      expect(headers.get("content-type")).to.equal("application/json");
      const [key] = body["keys"] as Record<string, unknown>[];
      expect(key).to.include({ kty: "EC", alg: "ES256", use: "sig", kid: keys.signer().kid });
      expect(key).to.not.have.any.keys("d", "p", "q", "dp", "dq", "qi", "k");
      const etag = headers.get("etag") ?? "";
      expect(etag).to.match(/^"[^"]+"$/);
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const known = await ask(url, { headers: { "If-None-Match": tag } });
        expect([known.status, known.text, known.headers.get("etag")]).to.eql([304, "", etag]);
      }
      const other = await ask(url, { headers: { "If-None-Match": '"other"' } });
      expect(other.status).to.equal(200);
    });

    it("returns 404 for the key set of a ring of secrets (ISS-15)", async () => {
      await using server = await serve(stack, issuing());
      expect((await ask(`${server.url}/.well-known/jwks.json`)).status).to.equal(404);
    });

    it("returns 405 with the allowed methods of a path (ERR-10)", async () => {
      await using server = await serve(stack, issuing());
      for (const [method, path, allow] of [
        ["GET", "/auth/logout", "POST"],
        ["PUT", "/auth/refresh", "POST"],
        ["POST", "/auth/me", "GET, HEAD"],
        ["DELETE", "/.well-known/jwks.json", "GET, HEAD"],
      ] as const) {
        const answer = await ask(server.url + path, { method });
        expect([answer.status, answer.headers.get("allow")]).to.eql([405, allow]);
      }
    });

    it("calls next() for paths that are not its routes, and for OPTIONS requests", async () => {
      await using server = await serve(stack, issuing());
      for (const path of ["/", "/auth", "/auth/google/start", "/auth/refresh/more", "/authx/me"]) {
        expect((await ask(server.url + path)).body["instance"], path).to.equal(path);
        expect((await ask(server.url + path)).status, path).to.equal(404);
      }
      const options = await ask(`${server.url}/auth/refresh`, { method: "OPTIONS" });
      expect(options.status).to.equal(404);
    });

    it("serves under the given prefix and ignores the query (ISS-9)", async () => {
      const each = issuing();
      const templates: unknown[] = [];
      const template: Middleware = (req, res, next) => {
        res.on("finish", () => templates.push(routeTemplateOf(req)));
        next();
      };
      await using server = await serve(stack, each, { prefix: "/api/session" }, [template]);
      const { access_token } = await each.issuer.issuePair(ada);
      const me = await ask(`${server.url}/api/session/me?x=1`, bearer(access_token));
      expect(me.status).to.equal(200);
      expect((await ask(`${server.url}/auth/me`, bearer(access_token))).status).to.equal(404);
      expect(templates[0]).to.equal("/api/session/me");
    });

    it("accepts a body that other middleware has parsed (REF-1)", async () => {
      const each = issuing();
      const parsed: Middleware = (req, _res, next) => {
        let text = "";
        req.on("data", (chunk: Buffer) => (text += chunk.toString()));
        req.on("end", () => {
          Object.assign(req, { body: JSON.parse(text) as unknown });
          next();
        });
      };
      await using server = await serve(stack, each, undefined, [parsed]);
      const { refresh_token } = await each.issuer.issuePair(ada);
      expect((await refreshWith(server.url, refresh_token)).status).to.equal(200);
    });

    it("returns `the body is not JSON` for an empty body that other middleware has consumed (ERR-19)", async () => {
      const reader: Middleware = (req, _res, next) => {
        req.resume();
        req.once("end", () => setImmediate(next));
      };
      await using server = await serve(stack, issuing(), undefined, [reader]);
      const { status, body } = await ask(`${server.url}/auth/refresh`, { ...json(0), body: "" });
      expect([status, body["detail"]]).to.eql([400, "the body is not JSON"]);
    });

    const bodies: readonly (readonly [string, RequestInit, number, string])[] = [
      ["no body", { method: "POST" }, 422, "Request validation failed"],
      ["an empty body", { ...json(0), body: "" }, 400, "the body is not JSON"],
      ["a form", { method: "POST", body: new URLSearchParams({ refresh_token: "x" }) }, 415, "the content"],
      ["invalid JSON", { ...json(0), body: '{"refresh_token": "s3cret' }, 400, "the body is not JSON"],
      ["a list", json(["s3cret"]), 422, "Request validation failed"],
      ["null", json(null), 422, "Request validation failed"],
      ["no token", json({}), 422, "Request validation failed"],
      ["a number as token", json({ refresh_token: 12 }), 422, "Request validation failed"],
      ["a token of 20 kB", json({ refresh_token: "s3cret".repeat(4000) }), 413, "the body is larger"],
      ["a form of 20 kB", { method: "POST", body: "s3cret".repeat(4000) }, 413, "the body is larger"],
      ["a token of 10 kB", json({ refresh_token: "s3cret".repeat(1600) }), 401, "invalid refresh token"],
    ];
    for (const [what, init, status, detail] of bodies) {
      it(`returns ${status} for a request with ${what}, without echoing the body (ERR-15)`, async () => {
        const each = issuing();
        await using server = await serve(stack, each);
        const answer = await ask(`${server.url}/auth/refresh`, init);
        expect([answer.status, String(answer.body["detail"]).slice(0, detail.length)]).to.eql([
          status,
          detail,
        ]);
        expect(answer.text).to.not.include("s3cret");
        expect(JSON.stringify(each.logger.lines)).to.not.include("s3cret");
      });
    }

    it("leaves the token valid when the client disconnects during the hook (REF-11)", async () => {
      const asked = Promise.withResolvers<undefined>();
      const answer = Promise.withResolvers<undefined>();
      const each = issuing({
        async onRefresh() {
          asked.resolve(undefined);
          await answer.promise;
          return { scopes: [] };
        },
      });
      let closed: Promise<unknown> | undefined;
      const watch: Middleware = (_req, res, next) => {
        closed ??= once(res, "close");
        next();
      };
      await using server = await serve(stack, each, undefined, [watch]);
      const { refresh_token } = await each.issuer.issuePair(ada);
      const leaving = new AbortController();
      const left = fetch(`${server.url}/auth/refresh`, {
        ...json({ refresh_token }),
        signal: leaving.signal,
      });
      left.catch(() => undefined);
      await asked.promise;
      leaving.abort();
      await closed;
      answer.resolve(undefined);
      expect((await refreshWith(server.url, refresh_token)).status).to.equal(200);
    });

    it("reports a body that is a list as a wrong type (ERR-15)", async () => {
      await using server = await serve(stack, issuing());
      const { body } = await ask(`${server.url}/auth/refresh`, json([]));
      expect(body["errors"]).to.eql([{ type: "object_type", loc: ["body"], msg: "must be a JSON object" }]);
    });

    it("reports the location of the missing token (ERR-15)", async () => {
      await using server = await serve(stack, issuing());
      const { body } = await ask(`${server.url}/auth/refresh`, json({ token: "x" }));
      expect(body["errors"]).to.eql([
        { type: "missing", loc: ["body", "refresh_token"], msg: "is required" },
      ]);
    });

    it("rejects a body without Content-Length that is too long, and a compressed body (LIM-3)", async () => {
      await using server = await serve(stack, issuing());
      const head =
        "POST /auth/refresh HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n";
      const chunk = `1000\r\n${" ".repeat(4096)}\r\n`;
      const long = await rawRequest(
        server.port,
        `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}0\r\n\r\n`,
      );
      expect(long.status).to.equal(413);
      const packed = await rawRequest(
        server.port,
        `${head}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expect(packed.status).to.equal(415);
    });
  });
}
