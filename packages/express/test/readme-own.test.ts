import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { testDatabase } from "@svc/dev-services";
import { listen, runSample, signToken } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body,
  headers: { "Content-Type": "application/json", ...headers },
});

describe("README of @svc/express, objects that an application already has", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "express-readme-own" });

  it("the sample uses a logger, a registry, a pool and a nonce", async () => {
    await using sample = await runSample(readme, 10, { env: { DATABASE_URL: database.url } });
    const url = await sample.url;
    const page = await fetch(url);
    const [, nonce] = /nonce="([^"]+)"/.exec(await page.text()) ?? expect.fail("no nonce");
    expect(page.headers.get("content-security-policy")).to.contain(`script-src 'nonce-${nonce}';`);
    expect(await (await fetch(`${url}/metrics`)).text()).to.contain('endpoint="/"');
    const ready = (await (await fetch(`${url}/ready`)).json()) as { checks: object };
    expect(ready.checks).to.have.property("database");
    sample.kill("SIGTERM");
    const { code, stdout } = await sample.ended;
    expect(code).to.equal(0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.every(({ team }) => team === "sales")).to.equal(true);
    const asked = lines.find(({ msg }) => msg === "asked the database");
    expect(asked).to.include({ answer: 42 });
    expect(asked?.["request_id"]).to.match(/^\w{32}$/);
  });

  it("the webhook sample verifies the bytes as sent", async () => {
    const secret = "s3cret";
    await using sample = await runSample(readme, 11, { env: { WEBHOOK_SECRET: secret } });
    const url = await sample.url;
    const body = '{ "action":"opened", "n":1.0 }';
    const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const send = async (bytes: string, given: string): Promise<Response> =>
      fetch(`${url}/webhooks/github`, post(bytes, { "X-Hub-Signature-256": given }));
    expect(await (await send(body, signature)).json()).to.deep.equal({ received: "opened" });
    for (const [bytes, given] of [
      [`${body} `, signature],
      [body, ""],
      [body, "é".repeat(71)],
    ] as const)
      expect((await send(bytes, Buffer.from(given).toString("latin1"))).status).to.equal(403);
    const order = await fetch(`${url}/orders`, post('{"a":1}'));
    expect(await order.json()).to.deep.equal({ got: { a: 1 } });
  });

  it("the proxy sample passes a POST of JSON on, and the limit applies", async () => {
    const seen: IncomingMessage[] = [];
    await using legacy = await listen((req, res) => {
      seen.push(req);
      void text(req).then(
        (body) => res.setHeader("Content-Type", "text/plain").end(`${req.method} ${req.url} ${body}`),
        () => res.destroy(),
      );
    });
    await using sample = await runSample(readme, 12, { env: { LEGACY_URL: legacy.url } });
    const url = await sample.url;
    const answer = await fetch(`${url}/legacy/orders?a=1`, post('{ "a":1 }'));
    expect(await answer.text()).to.equal('POST /orders?a=1 { "a":1 }');
    const large = await fetch(`${url}/legacy/orders`, post("x".repeat(2 * 1024 * 1024 + 1)));
    expect(large.status).to.equal(413);
    expect(seen).to.have.length(1);
  });

  it("the bridge sample runs a legacy handler", async () => {
    await using sample = await runSample(readme, 13);
    const answer = await fetch(`${await sample.url}/legacy`, { headers: { "X-Request-ID": "r-1" } });
    expect(await answer.json()).to.deep.equal({ id: "r-1", subject: "none" });
    sample.kill("SIGTERM");
    const { stdout } = await sample.ended;
    expect(stdout).to.match(/"request_id":"r-1".*"message":"an old handler"/);
  });

  for (const major of ["express", "express4"]) {
    it(`the bridge sample without createService() runs a legacy handler on ${major}`, async () => {
      const secret = "a secret of the tests, longer than 32 bytes";
      await using sample = await runSample(readme, 14, {
        env: { TOKEN_SECRET: secret },
        replace: { 'from "express"': `from "${major}"` },
      });
      const url = `${await sample.url}/legacy`;
      const token = signToken({ sub: "ada", aud: "orders" }, secret);
      const headers = { Authorization: `Bearer ${token}`, "X-Request-ID": "r-1" };
      const answer = await fetch(url, { headers });
      expect(await answer.json()).to.deep.equal({ id: "r-1", subject: "ada" });
      expect((await fetch(url)).status).to.equal(401);
      sample.kill("SIGTERM");
      const { stdout } = await sample.ended;
      expect(stdout).to.match(/"request_id":"r-1".*"message":"an old handler"/);
    });
  }
});
