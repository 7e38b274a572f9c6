import { createHash } from "node:crypto";
import { expect } from "chai";
import { type DemoProvider, startDemoProvider } from "../src/demo-provider.ts";
import { demoProviderStore } from "../src/demo-provider-store.ts";

const callback = "http://localhost:8000/auth/demo/callback";

/** A browser that has just been redirected to the provider. */
interface Asked {
  readonly url: string;
  readonly cookie: string;
}

async function ask({ authorizationEndpoint, clientId, issuer }: DemoProvider): Promise<Asked> {
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    scope: "openid email profile",
    redirect_uri: callback,
    code_challenge: createHash("sha256").update("a verifier").digest("base64url"),
    code_challenge_method: "S256",
  });
  const { headers } = await fetch(`${authorizationEndpoint}?${query.toString()}`, { redirect: "manual" });
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  return { url: new URL(headers.get("location") ?? "", issuer).href, cookie };
}

describe("the demo provider", () => {
  let provider: DemoProvider;
  before("start it", async () => {
    provider = await startDemoProvider({ redirectUris: [callback] });
  });
  after("stop it", () => provider.stop());

  const send = ({ url, cookie }: Asked, form: Record<string, string>): Promise<Response> =>
    fetch(url, { method: "POST", headers: { cookie }, body: new URLSearchParams(form), redirect: "manual" });

  it("asks again who the visitor is if the form names an unknown person", async () => {
    const asked = await ask(provider);
    const page = await fetch(asked.url, { headers: { cookie: asked.cookie } });
    expect([page.status, page.headers.get("content-security-policy")]).to.deep.equal([
      200,
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    ]);
    for (const person of ["", "root", "clerk-of-nowhere"]) {
      const answer = await send(asked, { answer: "yes", person });
      expect({ person, status: answer.status }).to.deep.equal({ person, status: 422 });
      expect(await answer.text()).to.contain("Choose a user");
    }
    expect((await send(asked, { answer: "yes", person: "stranger" })).status).to.equal(303);
  });

  it("refuses a form from another browser, a form that is too long, and invalid requests of clients", async () => {
    const asked = await ask(provider);
    const { authorizationEndpoint: url, tokenEndpoint, clientId } = provider;
    expect((await send({ ...asked, cookie: "" }, { answer: "yes", person: "stranger" })).status).to.equal(
      400,
    );
    expect((await send(asked, { answer: "x".repeat(5000) })).status).to.equal(400);
    expect((await fetch(url)).status).to.equal(400);
    const elsewhere = new URLSearchParams({ client_id: clientId, redirect_uri: "https://evil.example/" });
    const refused = await fetch(`${url}?${elsewhere.toString()}`, { redirect: "manual" });
    expect([refused.status, refused.headers.get("location")]).to.deep.equal([400, null]);
    const body = new URLSearchParams({ grant_type: "authorization_code", client_id: clientId, code: "x" });
    expect((await fetch(tokenEndpoint, { method: "POST", body })).status).to.equal(401);
  });

  it("publishes a new key at each start, without its private part", async () => {
    const other = await startDemoProvider({ redirectUris: [callback] });
    try {
      const sets = await Promise.all(
        [provider, other].map(
          async ({ jwksUri }) => (await (await fetch(jwksUri)).json()) as { keys: Record<string, string>[] },
        ),
      );
      const [mine, its] = sets.map(({ keys }) => keys);
      expect(mine).to.have.length(1);
      expect(mine?.[0]).to.have.all.keys("alg", "e", "kid", "kty", "n", "use");
      expect(mine?.[0]?.["n"]).not.to.equal(its?.[0]?.["n"]);
      expect(provider.clientSecret).not.to.equal(other.clientSecret);
    } finally {
      await other.stop();
    }
  });

  it("drops expired entries, and the oldest entries when its store is full", async () => {
    const store = demoProviderStore();
    await store.upsert("over", { uid: "a" }, 0);
    expect([await store.find("over"), await store.findByUid("a")]).to.deep.equal([undefined, undefined]);
    for (let i = 0; i <= 1000; i++)
      await store.upsert(`id-${i}`, { uid: `uid-${i}`, grantId: `of-${i % 2}` }, 60);
    expect(await store.find("id-0")).to.equal(undefined);
    expect(await store.findByUid("uid-1")).to.deep.include({ grantId: "of-1" });
    await store.consume("id-1");
    expect((await store.find("id-1"))?.consumed).to.be.a("number");
    await store.revokeByGrantId("of-1");
    expect([await store.find("id-1"), (await store.find("id-2"))?.uid]).to.deep.equal([undefined, "uid-2"]);
  });
});
