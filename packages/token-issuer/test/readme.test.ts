import { runSample } from "@svc/test-support";
import type { TokenPair } from "@svc/token-issuer";
import { expect } from "chai";
import { claimsOf } from "./support/issuing.ts";
import { ask, bearer, json } from "./support/stacks.ts";

const readme = new URL("../README.md", import.meta.url);

describe("a sample in the README of @svc/token-issuer", () => {
  it("serves sign-in with a JSON body, refresh and logout (ISS-1, REF-1, ISS-5, ERR-18)", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    const login = await ask(`${url}/login`, json({ password: "correct horse" }));
    const first = JSON.parse(login.text) as TokenPair;
    expect(claimsOf(first.access_token)).to.include({
      sub: "ada",
      aud: "orders",
      scope: "orders:read",
      tenant_id: "acme",
    });
    const refreshed = await ask(`${url}/auth/refresh`, json({ refresh_token: first.refresh_token }));
    expect(refreshed.status).to.equal(200);
    const second = JSON.parse(refreshed.text) as TokenPair;
    expect((await ask(`${url}/auth/me`, bearer(second.access_token))).body).to.include({
      subject: "ada",
      tenant_id: "acme",
    });
    const out = await ask(`${url}/auth/logout`, { method: "POST", ...bearer(second.access_token) });
    expect(out.status).to.equal(204);
    for (const { access_token } of [first, second]) {
      expect((await ask(`${url}/auth/me`, bearer(access_token))).status).to.equal(401);
    }
    expect((await ask(`${url}/login`, json({ password: "other" }))).status).to.equal(401);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
      const other = { method: "POST", body: "password=x", headers: { "Content-Type": type } };
      expect((await ask(`${url}/login`, other)).status).to.equal(415);
    }
    expect((await ask(`${url}/login`, { method: "POST" })).status).to.equal(401);
  });

  it("calls a hook that narrows the scopes and then ends the session (REF-10, REF-16)", async () => {
    await using sample = await runSample(readme, 1);
    const { stdout } = await sample.ended;
    expect(stdout).to.equal("orders:read\n401 this session is no longer valid\n");
  });

  it("signs a person out everywhere, and then signs this browser in again (REV-10)", async () => {
    await using sample = await runSample(readme, 2);
    const { stdout } = await sample.ended;
    expect(stdout).to.equal("this session has been revoked\nBearer\n");
  });
});
