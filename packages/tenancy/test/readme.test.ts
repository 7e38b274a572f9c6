import { createHmac } from "node:crypto";
import { runSample } from "@svc/test-support";
import { expect } from "chai";
import { ask } from "./support/ask.ts";

const readme = new URL("../README.md", import.meta.url);

function token(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1_000);
  const text = `${part({ alg: "HS256" })}.${part({ sub: "ann", iat: now, exp: now + 60, ...claims })}`;
  const signature = createHmac("sha256", "a secret of at least thirty-two bytes").update(text);
  return `${text}.${signature.digest("base64url")}`;
}

async function portOf(url: Promise<string>): Promise<number> {
  return Number(new URL(await url).port);
}

describe("the samples in the README of @svc/tenancy", () => {
  it("grant the token's tenant and refuse another tenant's host (TEN-4, TEN-6)", async () => {
    await using sample = await runSample(readme, 0);
    const port = await portOf(sample.url);
    const orders = (claims: object | undefined, host: string): ReturnType<typeof ask> =>
      ask(port, {
        target: "/orders",
        lines: [`Host: ${host}`, ...(claims === undefined ? [] : [`Authorization: Bearer ${token(claims)}`])],
      });
    expect((await orders({ tenant_id: "acme" }, "acme.example.com")).body).to.eql({ tenant: "acme" });
    expect((await orders({ tenant_id: "acme" }, "example.com")).body).to.eql({ tenant: "acme" });
    expect((await orders({ tenant_id: "acme" }, "globex.example.com")).status).to.equal(403);
    expect((await orders({}, "globex.example.com")).status).to.equal(403);
    expect((await orders(undefined, "acme.example.com")).status).to.equal(401);
    expect((await orders({ tenant_id: "acme", exp: 1 }, "acme.example.com")).status).to.equal(401);
  });

  it("check tenants against an application's own sessions (TEN-6)", async () => {
    await using sample = await runSample(readme, 1);
    const port = await portOf(sample.url);
    const lines = ["Host: x", "X-Session: s-1"];
    expect((await ask(port, { target: "/t/acme/orders", lines })).body).to.eql({ tenant: "acme" });
    expect((await ask(port, { target: "/t/globex/orders", lines })).status).to.equal(403);
    expect((await ask(port, { target: "/t/acme/orders" })).status).to.equal(401);
  });

  it("show the sign-in page only to a request that names a tenant (TEN-16, TEN-18)", async () => {
    await using sample = await runSample(readme, 2);
    const port = await portOf(sample.url);
    const response = await fetch(`http://127.0.0.1:${port}/sign-in`);
    expect(response.status).to.equal(404);
    const named = await ask(port, { target: "/sign-in", lines: ["Host: acme.example.com"] });
    expect([named.status, named.headers["content-length"]]).to.eql([200, String("Sign in to acme".length)]);
    expect((await ask(port, { target: "/orders", lines: ["Host: acme.example.com"] })).status).to.equal(401);
  });
});
