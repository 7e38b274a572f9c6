import { definePlugin } from "@svc/plugin";
import { expect } from "chai";
import type { Express } from "express";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const FORM = "application/x-www-form-urlencoded";
const COOKIE = { Cookie: "session=1" };
const refusal = "this request must come from a page of the same origin";

function routes(app: Express): void {
  app.all("/do", (_req, res) => void res.json({ done: true }));
}

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request with exactly these headers; fetch() sets some of them itself. */
async function ask(
  url: string,
  { method = "POST", path = "/do", body = "a=1", headers = {} }: Ask,
): Promise<Response> {
  return fetch(`${url}${path}`, { method, headers, ...(method === "GET" || body === null ? {} : { body }) });
}

describe("the same-origin rule of a web service", () => {
  onBothMajors((express) => {
    it("PROF-7 rejects a form from another site with 403", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const foreign: readonly Record<string, string>[] = [
        { Origin: "https://evil.example" },
        { Origin: "null" },
        { Origin: test.url.replace("127.0.0.1", "localhost") },
        { "Sec-Fetch-Site": "cross-site" },
        { "Sec-Fetch-Site": "same-site" },
        { "Sec-Fetch-Site": "none" },
        { "Sec-Fetch-Site": "cross-site", Origin: test.url },
        {},
      ];
      for (const headers of foreign) {
        const response = await ask(test.url, { headers: { "Content-Type": FORM, ...headers } });
        expect(response.status, JSON.stringify(headers)).to.equal(403);
        expect(response.headers.get("content-type")).to.equal("application/problem+json");
        expect(await response.json()).to.include({ status: 403, detail: refusal, instance: "/do" });
      }
    });

    it("PROF-7 accepts a form of its own pages, by Origin or Sec-Fetch-Site", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      for (const headers of [{ Origin: test.url }, { "Sec-Fetch-Site": "same-origin", Origin: "null" }]) {
        const response = await ask(test.url, { headers: { "Content-Type": FORM, ...COOKIE, ...headers } });
        expect(response.status, JSON.stringify(headers)).to.equal(200);
      }
    });

    it("PROF-7 rejects every unsafe method with a cookie, with or without a body", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const JSON_TYPE = { "Content-Type": "application/json" };
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect(
          (await ask(test.url, { method, body: "{}", headers: { ...JSON_TYPE, ...COOKIE } })).status,
        ).to.equal(403);
        expect((await ask(test.url, { method, body: null, headers: COOKIE })).status, method).to.equal(403);
      }
    });

    it("PROF-7 rejects the three content types of HTML forms even without a cookie", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      for (const type of [
        FORM,
        `${FORM.toUpperCase()};charset=utf-8`,
        "multipart/form-data; boundary=b",
        "text/plain",
        " text/plain ; x=y",
      ])
        expect((await ask(test.url, { headers: { "Content-Type": type } })).status, type).to.equal(403);
      for (const type of ["application/json", "text/csv", "application/x-www-form-urlencodedx"])
        expect(
          (await ask(test.url, { body: "{}", headers: { "Content-Type": type } })).status,
          type,
        ).not.to.equal(403);
    });

    it("PROF-7 accepts a form without Cookie, Origin and Sec-Fetch-Site on raw and stream body paths", async () => {
      const paths = { rawBodyPaths: ["/hooks"], streamBodyPaths: ["/streams"] };
      const hooks = (to: Express): void => {
        routes(to);
        to.all(/.*/, (_req, res) => void res.json({ done: true }));
      };
      await using test = await startService({ kind: "web", app: express(), routes: hooks, ...paths });
      for (const type of [FORM, "text/plain", "multipart/form-data; boundary=b"]) {
        for (const path of ["/hooks", "/Hooks/slack", "/streams/a"])
          expect((await ask(test.url, { path, headers: { "Content-Type": type } })).status, path).to.equal(
            200,
          );
        for (const more of [COOKIE, { Origin: "https://evil.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
          const headers = { "Content-Type": type, ...more } as Record<string, string>;
          expect((await ask(test.url, { path: "/hooks", headers })).status, JSON.stringify(more)).to.equal(
            403,
          );
        }
        expect((await ask(test.url, { path: "/hookss", headers: { "Content-Type": type } })).status).to.equal(
          403,
        );
      }
    });

    it("accepts a call with a bearer token and JSON but no cookie, from any program and site", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const call = { "Content-Type": "application/json", Authorization: "Bearer x" };
      for (const headers of [call, { ...call, Origin: "https://app.example" }])
        expect((await ask(test.url, { body: "{}", headers })).status).to.equal(200);
    });

    it("accepts cross-site requests with a cookie if the method is safe", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        const headers = { ...COOKIE, "Sec-Fetch-Site": "cross-site" };
        expect((await ask(test.url, { method, body: null, headers })).status, method).to.equal(200);
      }
    });

    it("PROF-7 does not apply to an api service", async () => {
      await using test = await startService({ app: express(), routes });
      const headers = { ...COOKIE, "Content-Type": "application/json", "Sec-Fetch-Site": "cross-site" };
      expect((await ask(test.url, { body: "{}", headers })).status).to.equal(200);
    });

    it("PROF-7 decides before the caller is identified", async () => {
      let identified = 0;
      const spy = definePlugin({
        name: "spy",
        start: () => ({ identity: (_req, _res, next) => ((identified += 1), next()) }),
      });
      const toml = '[plugins]\nenabled = ["spy"]\n';
      await using test = await startService({ kind: "web", app: express(), routes, plugins: { spy }, toml });
      expect((await ask(test.url, { headers: { "Content-Type": FORM, ...COOKIE } })).status).to.equal(403);
      expect(identified).to.equal(0);
      expect((await ask(test.url, { headers: { "Content-Type": FORM, Origin: test.url } })).status).to.equal(
        200,
      );
      expect(identified).to.equal(1);
    });

    it("lets a sign-in provider post to the callback of the login, and to no other path", async () => {
      const toml = `[plugins]
enabled = ["auth"]
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
secret = "${"s".repeat(32)}"
[plugin.auth.providers.acme]
client_id = "orders"
client_secret = "a"
redirect_uri = "https://orders.example/auth/acme/callback"
issuer = "https://id.acme.example"
jwks_uri = "https://id.acme.example/keys"
authorization_endpoint = "https://id.acme.example/authorize"
token_endpoint = "https://id.acme.example/token"
algorithms = ["RS256"]
`;
      await using test = await startService({ kind: "web", app: express(), routes, toml });
      const headers = {
        "Content-Type": FORM,
        ...COOKIE,
        "Sec-Fetch-Site": "cross-site",
        Origin: "https://id.acme.example",
      };
      const status = async (path: string): Promise<number> =>
        (await ask(test.url, { path, headers, body: "code=1&state=2" })).status;
      // The request reaches the callback, which responds with 405 because it accepts only GET.
      expect(await status("/auth/acme/callback?x=1")).to.equal(405);
      for (const path of [
        "/auth/acme/start",
        "/auth/other/callback",
        "/auth/acme/callback/",
        "//auth/acme/callback",
        "/auth/acme/%63allback",
      ])
        expect(await status(path), path).to.equal(403);
    });
  });
});
