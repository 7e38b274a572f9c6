import { listen, runSample } from "@svc/test-support";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { CLIENT, hostileProvider, sendJson } from "./support/hostile-provider.ts";

const readme = new URL("../README.md", import.meta.url);

describe("a sample in the README of @svc/oidc-login", () => {
  it("signs in with Google (OIDC-1, OIDC-10)", async () => {
    await using provider = await hostileProvider();
    const { jwksUri, authorizationEndpoint, tokenEndpoint } = provider.options;
    const places = JSON.stringify({ jwksUri, authorizationEndpoint, tokenEndpoint }).slice(1, -1);
    const replace = {
      'clientId: "123.apps.googleusercontent.com"': `clientId: "${CLIENT}", ${places}`,
      "cookieSecret:": 'env: "local", cookieSecret:',
    };
    await using sample = await runSample(readme, 0, { replace });
    const url = await sample.url;
    const ours = browser();
    const { state, nonce, location } = await start(ours, `${url}/auth/google/start?return_to=/orders`);
    expect(location.searchParams.get("redirect_uri")).to.equal("https://orders.example/auth/google/callback");
    provider.issue({ nonce, iss: "https://accounts.google.com", email: "ada@b.example" });
    const response = await ours.open(`${url}/auth/google/callback?code=c&state=${state}`);
    expect([response.status, await response.json()]).to.eql([
      200,
      { hello: "google:ada", email: "ada@b.example" },
    ]);
    expect((await ours.open(`${url}/auth/google/callback?code=c&state=${state}`)).status).to.equal(401);
  });

  it("signs in with GitHub and redirects to a page (OIDC-14, OIDC-18)", async () => {
    await using provider = await hostileProvider();
    await using api = await listen((req, res) => {
      sendJson(res, 200, req.url === "/user" ? { id: 42 } : []);
    });
    const { authorizationEndpoint, tokenEndpoint } = provider.options;
    const places = JSON.stringify({ authorizationEndpoint, tokenEndpoint }).slice(1, -1);
    const replace = {
      'clientId: "Iv1.0123456789abcdef"': `clientId: "${CLIENT}", ${places}`,
      "cookieSecret:": 'env: "local", cookieSecret:',
      "githubIdentity(accessToken)": `githubIdentity(accessToken, { apiUrl: "${api.url}" })`,
    };
    await using sample = await runSample(readme, 1, { replace });
    const url = await sample.url;
    const ours = browser();
    const { state } = await start(ours, `${url}/auth/github/start?return_to=/orders`);
    provider.answer(200, { access_token: "gho_1", token_type: "bearer" });
    const response = await ours.open(`${url}/auth/github/callback?code=c&state=${state}`);
    expect([response.status, response.headers.get("location")]).to.eql([303, "/orders"]);
    expect([...ours.cookies]).to.eql([["__Host-session", "session-of-github:42"]]);
    expect((await fetch(`${url}/other`)).status).to.equal(404);
    expect((await fetch(`${url}/auth/google/start`)).status).to.equal(404);
  });

  it("shows a page when a person cancels or the attempt has expired (OIDC-12)", async () => {
    await using sample = await runSample(readme, 2);
    const url = await sample.url;
    const page = async (path: string): Promise<unknown[]> => {
      const response = await fetch(url + path);
      return [response.status, /<p>[^<]*/.exec(await response.text())?.[0].trim()];
    };
    expect(await page("/auth/google/callback?error=access_denied")).to.eql([401, "<p>You did not sign in."]);
    expect(await page("/auth/google/callback?code=c&state=s")).to.eql([401, "<p>That did not work."]);
    const other = await fetch(`${url}/auth/acme/start`);
    expect([other.status, other.headers.get("content-type")]).to.eql([404, "application/problem+json"]);
  });
});
