import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { type HostileProvider, hostileProvider, sendJson } from "./support/hostile-provider.ts";
import { serve } from "./support/service.ts";

describe("the code exchange", () => {
  let provider: HostileProvider;
  beforeEach(async () => {
    provider = await hostileProvider();
  });
  afterEach(() => provider[Symbol.asyncDispose]());

  it("does not log the code verifier or the client secret when the provider echoes them as an error code", async () => {
    await using service = await serve({ providers: { acme: provider.options } });
    for (const name of ["code_verifier", "client_secret"]) {
      const sent = (): string => provider.exchanges.at(-1)?.get(name) ?? "";
      const tab = browser();
      const { state } = await start(tab, `${service.url}/auth/acme/start`);
      provider.answerBy((_req, res) => sendJson(res, 400, { error: sent() }));
      const response = await tab.open(`${service.url}/auth/acme/callback?code=c&state=${state}`);
      expect([response.status, service.reason()]).to.eql([401, "code_refused"]);
      expect(sent()).to.have.length.at.least(20);
      expect(JSON.stringify(service.lines)).not.to.contain(sent());
    }
  });

  it("sends at most 256 concurrent requests to a provider that hangs (OIDC-12)", async () => {
    const answers: (() => void)[] = [];
    const fetch: typeof globalThis.fetch = (input) =>
      new Promise((resolve) => {
        // Leave the request for the keys unanswered.
        if (input === provider.options.tokenEndpoint)
          answers.push(() => resolve(Response.json({ error: "invalid_grant" })));
      });
    await using service = await serve({
      providers: { acme: provider.options },
      fetch,
      exchangeTimeoutSeconds: 60,
    });
    const tab = browser();
    const { state } = await start(tab, `${service.url}/auth/acme/start`);
    const cookie = [...tab.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const back = async (): Promise<number> => {
      const url = `${service.url}/auth/acme/callback?code=c&state=${state}`;
      const response = await globalThis.fetch(url, { headers: { cookie } });
      await response.arrayBuffer();
      return response.status;
    };
    const held = Array.from({ length: 256 }, back);
    while (answers.length < 256) await setImmediate();
    expect([await back(), service.reason(), answers.length]).to.eql([503, "provider_unreachable", 256]);
    for (const answer of answers) answer();
    expect(new Set(await Promise.all(held))).to.eql(new Set([401]));
    const next = back();
    while (answers.length < 257) await setImmediate();
    answers.at(-1)?.();
    expect(await next).to.equal(401);
  });
});
