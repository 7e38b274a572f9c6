import type { IncomingMessage } from "node:http";
import { jwtAuth, type JwtAuthOptions, principalOf, requireAuth } from "@svc/jwt-auth";
import { problemHandler } from "@svc/problem";
import { collectingLogger, expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { ask, bearer, serve, stacks } from "./support/stacks.ts";

const tokenFrom = (req: IncomingMessage): string | undefined =>
  /(?:^|; )__Host-session=([^;]+)/.exec(req.headers.cookie ?? "")?.[1];
const options: JwtAuthOptions = { keys: everyKey(), algorithms: ["HS256"], now, tokenFrom };
const routes = { "/open": [], "/me": [requireAuth()] };
const token = forge({ algorithm: "HS256" });
const cookie = { Cookie: `theme=dark; __Host-session=${token}` };
const bob = forge({ algorithm: "HS256", claims: { sub: "bob" } });

for (const stack of stacks) {
  describe(`tokenFrom on ${stack}`, () => {
    it("finds the caller from a cookie, which jwtAuth() ignores without tokenFrom (AUTH-33)", async () => {
      await using pages = await serve(stack, [jwtAuth(options)], routes);
      expect((await ask(`${pages.url}/me`, cookie)).body.caller).to.equal("ada");
      await using plain = await serve(stack, [jwtAuth({ ...options, tokenFrom: undefined })], routes);
      expect((await ask(`${plain.url}/me`, cookie)).status).to.equal(401);
    });

    it("is not called for a request with a valid or invalid bearer header (AUTH-33)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const both = { ...cookie, ...bearer(bob) };
      expect((await ask(`${server.url}/me`, both)).body.caller).to.equal("bob");
      expect((await ask(`${server.url}/me`, both, "POST")).body.caller).to.equal("bob");
      for (const bad of ["nonsense", "", forge({ algorithm: "HS256", claims: { exp: 1 } })]) {
        expect((await ask(`${server.url}/me`, { ...cookie, ...bearer(bad) })).status).to.equal(401);
      }
    });

    it("is called for an Authorization header of another scheme (AUTH-33)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const { body } = await ask(`${server.url}/me`, { ...cookie, Authorization: "Basic eDp5" });
      expect(body.caller).to.equal("ada");
    });

    it("authenticates safe methods from any origin (AUTH-34)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      for (const method of ["GET", "OPTIONS"]) {
        const headers = { ...cookie, "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" };
        const { status, body } = await ask(`${server.url}/me`, headers, method);
        expect([status, body.caller], method).to.eql([200, "ada"]);
      }
    });

    it("authenticates an unsafe method from a page of the same origin (AUTH-34)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const own: readonly Readonly<Record<string, string>>[] = [
        { "Sec-Fetch-Site": "same-origin" },
        { Origin: server.url },
        { Origin: server.url.replace("http:", "https:") },
        { "Sec-Fetch-Site": "same-origin", Origin: server.url },
      ];
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        for (const headers of own) {
          const { body } = await ask(`${server.url}/me`, { ...cookie, ...headers }, method);
          expect(body.caller, `${method} ${JSON.stringify(headers)}`).to.equal("ada");
        }
      }
    });

    it("causes a 403 for an unsafe method from another origin, even on routes without a guard (AUTH-34)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      const { port } = new URL(server.url);
      const foreign: readonly Readonly<Record<string, string>>[] = [
        {},
        { "Sec-Fetch-Site": "cross-site" },
        { "Sec-Fetch-Site": "same-site" },
        { "Sec-Fetch-Site": "none" },
        { "Sec-Fetch-Site": "" },
        { "Sec-Fetch-Site": "same-origin, same-origin" },
        { "Sec-Fetch-Site": "same-site", Origin: server.url },
        { Origin: "null" },
        { Origin: "" },
        { Origin: "https://evil.example" },
        { Origin: "http://127.0.0.1" },
        { Origin: `http://127.0.0.1:${Number(port) + 1}` },
        { Origin: `http://127.0.0.1.evil.example:${port}` },
        { Origin: `http://127.0.0.1:${port}@evil.example` },
        { Origin: `http://evil.example#127.0.0.1:${port}` },
        { Origin: `${server.url}/` },
        { Origin: `${server.url}, ${server.url}` },
        { Origin: `ftp://127.0.0.1:${port}` },
        { Origin: `127.0.0.1:${port}` },
        { Referer: `${server.url}/page` },
      ];
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        for (const headers of foreign) {
          for (const path of ["/me", "/open"]) {
            const { status, body } = await ask(server.url + path, { ...cookie, ...headers }, method);
            expect(status, `${method} ${JSON.stringify(headers)}`).to.equal(403);
            expect(body.detail).to.equal("this request must come from a page of the same origin");
          }
        }
      }
    });

    it("does not cause an origin check if the session cookie is missing or invalid (AUTH-12, AUTH-34)", async () => {
      await using server = await serve(stack, [jwtAuth(options)], routes);
      for (const headers of [{ Cookie: "__Host-session=nonsense" }, { Cookie: "theme=dark" }]) {
        expect((await ask(`${server.url}/open`, headers, "POST")).status).to.equal(200);
        expect((await ask(`${server.url}/me`, headers, "POST")).status).to.equal(401);
      }
    });

    it("causes a 500 when it throws or does not return a string, and the reason is logged", async () => {
      const faults: readonly (() => unknown)[] = [
        () => {
          throw new Error("a bug");
        },
        () => 7,
        () => ["x"],
        () => Promise.resolve(token),
        () => Promise.reject(new Error("a bug")),
      ];
      for (const fault of faults) {
        const logger = collectingLogger();
        const auth = jwtAuth({ ...options, tokenFrom: fault as () => string });
        await using server = await serve(stack, [auth], routes, logger);
        const { status, text } = await ask(`${server.url}/open`);
        expect(status).to.equal(500);
        expect(text).to.not.include("a bug");
        expect(logger.lines[0]?.fields["err"]).to.include({ code: "ERR_SVC_AUTH_FAILED" });
      }
    });

    it("may return undefined, null or an empty string for no token", async () => {
      for (const nothing of [null, "", undefined]) {
        const auth = jwtAuth({ ...options, tokenFrom: () => nothing as undefined });
        await using server = await serve(stack, [auth], routes);
        expect((await ask(`${server.url}/open`)).body.caller).to.equal(null);
      }
    });
  });
}

describe("tokenFrom behind a proxy that terminates TLS", () => {
  it("causes a 403 for an http Origin when Express knows that the request used TLS (AUTH-34)", async () => {
    for (const express of Object.values(expressMajors)) {
      const app = express();
      app.set("trust proxy", "loopback");
      app.use(jwtAuth(options), (req, res) => res.json({ caller: principalOf(req)?.subject }));
      app.use(problemHandler());
      await using server = await listen(app);
      const { host } = new URL(server.url);
      const statuses = [];
      for (const scheme of ["http", "https"]) {
        const headers = { ...cookie, Origin: `${scheme}://${host}`, "X-Forwarded-Proto": "https" };
        statuses.push((await ask(server.url, headers, "POST")).status);
      }
      expect(statuses).to.eql([403, 200]);
    }
  });
});
