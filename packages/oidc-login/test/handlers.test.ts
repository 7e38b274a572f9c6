import type { IncomingMessage, ServerResponse } from "node:http";
import { type LoginIdentity, oidcLogin, type OidcLoginOptions } from "@svc/oidc-login";
import type { Request, Response as ExpressResponse } from "express";
import { forbidden } from "@svc/problem";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { type HostileProvider, hostileProvider } from "./support/hostile-provider.ts";
import { type Given, problemIn, SECRET, serve, type Stack, stacks } from "./support/service.ts";

type Handler = Given["onIdentity"];

describe("the onIdentity handler", () => {
  it("may declare the request and response of Express", () => {
    const onIdentity = ({ return_to }: LoginIdentity, req: Request, res: ExpressResponse): void =>
      res.redirect(req.secure ? 303 : 302, return_to);
    const options: Pick<OidcLoginOptions, "onIdentity"> = { onIdentity };
    expect(options.onIdentity).to.equal(onIdentity);
  });

  let provider: HostileProvider;
  beforeEach(async () => {
    provider = await hostileProvider();
  });
  afterEach(() => provider[Symbol.asyncDispose]());

  async function signIn(onIdentity: Handler, stack: Stack = "bare http"): Promise<Response> {
    await using service = await serve({ providers: { acme: provider.options }, onIdentity }, stack);
    const ours = browser();
    const { state, nonce } = await start(ours, `${service.url}/auth/acme/start`);
    provider.issue({ nonce });
    const response = await ours.open(`${service.url}/auth/acme/callback?code=c&state=${state}`);
    const left = [...ours.cookies.keys()].filter((name) => name.startsWith("svc_login_"));
    expect(left, "login cookies that are left").to.eql([]);
    return response;
  }

  for (const stack of stacks) {
    it(`may return a result, which is sent as JSON, on ${stack} (OIDC-10, OIDC-14)`, async () => {
      const response = await signIn(async ({ federated_id }) => ({ token: `for ${federated_id}` }), stack);
      expect([response.status, await response.json()]).to.eql([200, { token: "for acme:ada" }]);
      expect(response.headers.get("content-type")).to.equal("application/json");
      expect(response.headers.get("cache-control")).to.equal("no-store");
      expect(response.headers.get("referrer-policy")).to.equal("no-referrer");
    });

    it(`may send the response itself, on ${stack} (OIDC-14)`, async () => {
      const response = await signIn((identity, _req, res) => {
        res.writeHead(303, { location: identity.return_to, "set-cookie": "session=1" }).end();
        return "ignored";
      }, stack);
      expect([response.status, response.headers.get("location")]).to.eql([303, "/"]);
      expect(response.headers.getSetCookie()).to.have.length(2);
    });

    it(`is named in a 500 when it is missing, on ${stack} (OIDC-11)`, async () => {
      const response = await signIn(undefined, stack);
      expect(await problemIn(response)).to.include({
        status: 500,
        detail: "no handler for identities is registered: pass onIdentity to oidcLogin()",
      });
    });
  }

  it("may return null, false, a number or a string as JSON (OIDC-14)", async () => {
    for (const value of [null, false, 7, "text", [], ""]) {
      const response = await signIn(() => value);
      expect([response.status, await response.json()]).to.eql([200, value]);
    }
  });

  const ways: Readonly<Record<string, (res: ServerResponse) => void>> = {
    "setHeader()": (res) => res.setHeader("Set-Cookie", "session=1").end(),
    "setHeader() with a list": (res) => res.setHeader("set-cookie", ["session=1"]).end(),
    "appendHeader()": (res) => res.appendHeader("Set-Cookie", "session=1").end(),
    "writeHead() with an object": (res) => res.writeHead(200, { "Set-Cookie": "session=1" }).end(),
    "writeHead() with a phrase": (res) => res.writeHead(200, "Fine", { "Set-Cookie": ["session=1"] }).end(),
    "writeHead() with a list": (res) => res.writeHead(200, ["Set-Cookie", "session=1"]).end(),
    "writeHead() with other headers": (res) =>
      res.setHeader("Set-Cookie", "session=1").writeHead(200, { "x-other": "1" }).end(),
  };
  for (const [way, send] of Object.entries(ways)) {
    it(`may set its own cookies with ${way}, and the login cookie is still deleted (OIDC-7)`, async () => {
      const response = await signIn((_identity, _req, res) => send(res));
      const lines = response.headers.getSetCookie();
      expect(lines).to.have.length(2);
      expect(lines).to.include("session=1");
    });
  }

  it("causes a 500 when it returns nothing and sends nothing", async () => {
    const response = await signIn(() => undefined);
    expect((await problemIn(response)).detail).to.equal("An unexpected error occurred");
    expect(response.status).to.equal(500);
  });

  it("may reject a person by throwing a ProblemError", async () => {
    const response = await signIn(() => {
      throw forbidden("not on the list");
    });
    expect(await problemIn(response)).to.include({ status: 403, detail: "not on the list" });
  });

  it("causes a 500 without details when it throws an error other than a ProblemError", async () => {
    const response = await signIn(async () => {
      throw new Error("the database password is hunter2");
    });
    expect(response.status).to.equal(500);
    expect(await response.text()).not.to.contain("hunter2");
  });

  for (const [major, express] of Object.entries(expressMajors)) {
    it(`is not called for a refused callback, which deletes the login cookie even if ${major} responds (OIDC-7)`, async () => {
      const redirectUri = "http://127.0.0.1/auth/acme/callback";
      const login = oidcLogin({
        providers: { acme: { ...provider.options, redirectUri } },
        cookieSecret: SECRET,
        env: "local",
        onIdentity: () => null,
      });
      const app = express();
      app.set("env", "test");
      app.use("/api", login);
      await using server = await listen(app as (req: IncomingMessage, res: ServerResponse) => void);
      const ours = browser();
      const { state } = await start(ours, `${server.url}/api/auth/acme/start`);
      const url = `${server.url}/api/auth/acme/callback?error=access_denied&state=${state}`;
      const response = await ours.open(url);
      expect([response.status, ours.cookies.size]).to.eql([401, 0]);
    });
  }
});
