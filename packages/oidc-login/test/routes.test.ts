import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { oidcLogin } from "@svc/oidc-login";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { CLIENT, type HostileProvider, hostileProvider } from "./support/hostile-provider.ts";
import { problemIn, SECRET, serve, type Service, stacks } from "./support/service.ts";

describe("the sign-in routes", () => {
  let provider: HostileProvider;
  beforeEach(async () => {
    provider = await hostileProvider();
  });
  afterEach(() => provider[Symbol.asyncDispose]());

  for (const stack of stacks) {
    describe(stack, () => {
      let service: Service;
      beforeEach(async () => {
        service = await serve({ providers: { acme: provider.options } }, stack);
      });
      afterEach(() => service[Symbol.asyncDispose]());

      it("redirect from /start to the provider with state, nonce and PKCE (OIDC-1, OIDC-2, OIDC-3)", async () => {
        const { location, response } = await start(browser(), `${service.url}/auth/acme/start`);
        expect(response.status).to.equal(302);
        const { state, nonce, code_challenge, ...rest } = Object.fromEntries(location.searchParams);
        for (const each of [state, nonce, code_challenge]) expect(each).to.match(/^[\w-]{43}$/);
        expect(new Set([state, nonce, code_challenge]).size).to.equal(3);
        expect(rest).to.eql({
          client_id: CLIENT,
          redirect_uri: `${service.url}/auth/acme/callback`,
          response_type: "code",
          scope: "openid email profile",
          code_challenge_method: "S256",
        });
      });

      it("exist for every configured provider (OIDC-1)", async () => {
        const names = ["acme", "other"];
        const providers = Object.fromEntries(names.map((name) => [name, provider.options]));
        await using both = await serve({ providers }, stack);
        for (const name of names) {
          for (const [action, status] of Object.entries({ start: 302, callback: 401 })) {
            const url = `${both.url}/auth/${name}/${action}`;
            expect((await fetch(url, { redirect: "manual" })).status, url).to.equal(status);
          }
        }
      });

      it("return 404 for an unknown provider (OIDC-12)", async () => {
        for (const path of [
          "/auth/other/start",
          "/auth/other/callback",
          "/auth/__proto__/start",
          "/auth/ACME/start",
        ]) {
          const response = await fetch(service.url + path, { redirect: "manual" });
          expect([path, response.status, (await problemIn(response)).title]).to.eql([path, 404, "Not Found"]);
        }
      });

      it("accept only GET", async () => {
        for (const path of ["/auth/acme/start", "/auth/acme/callback"]) {
          for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"]) {
            const response = await fetch(service.url + path, { method });
            expect([response.status, response.headers.get("allow")], `${method} ${path}`).to.eql([
              405,
              "GET",
            ]);
            expect(response.headers.getSetCookie()).to.eql([]);
          }
        }
      });

      it("call next() for every path that is not a sign-in route", async () => {
        const paths = [
          "/",
          "/auth",
          "/auth/",
          "/auth/acme",
          "/auth/acme/",
          "/auth/logout",
          "/auth/acme/other",
        ];
        paths.push(
          "/auth/acme/start/",
          "/auth/acme/start/x",
          "/auth//start",
          "/xauth/acme/start",
          "/authacme/start",
        );
        paths.push("/start", "/auth/acme/Start");
        for (const path of paths) {
          const response = await fetch(service.url + path);
          const { detail } = await problemIn(response);
          expect([path, response.status, detail]).not.to.include("there is no such sign-in provider");
          expect([path, response.status]).to.eql([path, 404]);
        }
      });

      it("return 401 for hostile callbacks, never a 500 (OIDC-12)", async () => {
        const ours = browser();
        const { state } = await start(ours, `${service.url}/auth/acme/start`);
        const long = "a".repeat(8000);
        const queries = [
          "",
          "?",
          "?code=c",
          "?state=",
          `?state=${state}`,
          `?state=${state}&code=`,
          `?state=${state}&state=${state}&code=c`,
          `?state=${state}&code=c&code=d`,
          `?state=${state}&code=c&iss=https://evil.example`,
          `?state=${state}&code=c&iss=${provider.url}&iss=${provider.url}`,
          `?state=${state}&code=c&response=jwt`,
          `?state=${state}&code=c&id_token=x`,
          `?state=${state.slice(1)}&code=c`,
          `?state=${state}%00&code=c`,
          "?state=%ff%fe&code=%00",
          "?state=%F0%9F%98%80&code=c",
          "?state=gr%C3%BC%C3%9Fe&code=c",
          "?state=%E0%A4%A&code=%",
          `?state=${long}&code=c`,
          `?state=x&code=${long}`,
          `?error=${long}`,
          "?error=",
          `?error=<script>alert(1)</script>&error_description=<b>bold</b>&state=${state}`,
          "?__proto__=1&constructor=2",
          `?${"a&".repeat(3000)}`,
        ];
        for (const query of queries) {
          // Send the cookie with every callback, as if the browser never deleted it.
          const kept = browser();
          for (const [name, value] of ours.cookies) kept.cookies.set(name, value);
          const response = await kept.open(`${service.url}/auth/acme/callback${query}`);
          expect([query.slice(0, 80), response.status]).to.eql([query.slice(0, 80), 401]);
          expect(await response.text()).not.to.match(/script|bold|evil|a{20}/);
        }
        expect(JSON.stringify(service.lines)).not.to.match(/script|bold|evil|a{20}/);
        expect(provider.requests.filter((each) => each !== "/keys")).to.eql([]);
      });
    });
  }

  it("never return 500 for parameters of 100 KB, if the server accepts such headers (OIDC-12)", async () => {
    await using service = await serve({ providers: { acme: provider.options } });
    const handle = service.server.listeners("request")[0] as Parameters<typeof createServer>[1];
    await using roomy = await listen(createServer({ maxHeaderSize: 1_000_000 }, handle));
    const wire = "%C3%BC".repeat(17_000);
    for (const path of [
      `start?return_to=/${wire}`,
      `callback?code=c&state=${wire}`,
      `callback?state=x&code=${wire}`,
      `callback?error=${wire}`,
    ]) {
      const cookie = `svc_login_${"a".repeat(16)}=${wire}`;
      const head = `GET /auth/acme/${path} HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n\r\n`;
      const { status } = await rawRequest(roomy.port, head);
      expect([path.slice(0, 20), status]).to.eql([path.slice(0, 20), path.startsWith("start") ? 302 : 401]);
    }
  });

  for (const prefix of ["", "/login", "/api/v1/auth"]) {
    it(`are served below the prefix ${JSON.stringify(prefix)} (OIDC-1)`, async () => {
      await using service = await serve({ providers: { acme: provider.options }, prefix });
      const ours = browser();
      const { state, nonce, location } = await start(ours, `${service.url}${prefix}/acme/start`);
      expect(location.searchParams.get("redirect_uri")).to.equal(`${service.url}${prefix}/acme/callback`);
      provider.issue({ nonce });
      const response = await ours.open(`${service.url}${prefix}/acme/callback?code=c&state=${state}`);
      expect(response.status).to.equal(200);
      expect((await fetch(`${service.url}/auth2/acme/start`)).status).to.equal(404);
    });
  }

  for (const [major, express] of Object.entries(expressMajors)) {
    it(`can be mounted below a path in ${major} (OIDC-1)`, async () => {
      const redirectUri = "http://127.0.0.1/in/auth/acme/callback";
      await using login = oidcLogin({
        providers: { acme: { ...provider.options, redirectUri } },
        cookieSecret: SECRET,
        env: "local",
      });
      const app = express();
      app.use("/in", login);
      await using server = await listen(app);
      expect((await start(browser(), `${server.url}/in/auth/acme/start`)).response.status).to.equal(302);
    });
  }

  it("keep nothing in memory for sign-ins that are never completed (OIDC-3, OIDC-5)", async function () {
    // Eleven thousand attempts take seconds even on an idle machine.
    this.timeout(60_000);
    await using service = await serve({ providers: { acme: provider.options } });
    const states = new Set<string | undefined>();
    const flood = (count: number, note: (location: string) => void): void => {
      for (let each = 0; each < count; each++) {
        const req = new IncomingMessage(new Socket());
        Object.assign(req, { method: "GET", url: "/auth/acme/start?return_to=/orders" });
        const res = new ServerResponse(req);
        service.login(req, res, (error) => expect.fail(String(error)));
        note(String(res.getHeader("Location")));
      }
    };
    flood(1000, (location) => states.add(new URL(location).searchParams.get("state") ?? undefined));
    expect(states.size).to.equal(1000);
    const before = settledHeap();
    flood(10_000, () => undefined);
    // Keeping every state would take one megabyte, and keeping every sealed attempt five.
    expect(settledHeap() - before).to.be.below(1_000_000);
  });
});

function settledHeap(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
