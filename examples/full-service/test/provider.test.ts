import type { IncomingMessage, ServerResponse } from "node:http";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { createService, type Service } from "@svc/express";
import type { LoginIdentity } from "@svc/oidc-login";
import { expect } from "chai";
import request from "supertest";
import { serviceUrl } from "../src/database-role.ts";
import { configuration } from "../src/configuration.ts";
import { type DemoProvider, startDemoProvider } from "../src/demo-provider.ts";
import { expensesService } from "../src/service.ts";
import { addUser } from "../src/users.ts";
import { authEnv } from "./support/caller.ts";
import { cheapCost } from "./support/cheap-cost.ts";
import { cookiesOf } from "./support/sign-in.ts";

const clerk = "clerk@harbour-cafe.example";

/** Returns an identity of a provider with the given members. */
function identity(over: Partial<LoginIdentity>): LoginIdentity {
  return {
    federated_id: "demo:1",
    subject: "1",
    provider: "demo",
    email: null,
    email_verified: false,
    name: null,
    picture: null,
    claims: {},
    return_to: "/",
    ...over,
  };
}

describe("sign-in with a provider", () => {
  const database = testDatabase({ name: "provider" });
  let databaseUrl = "";
  let service: Service;
  let provider: DemoProvider;
  let said = identity({});

  before("the service, with identities from the test", async () => {
    databaseUrl = await serviceUrl(database.url);
    const passwords = { cost: cheapCost };
    const env = { DATABASE_URL: databaseUrl, SVC_PORT: "0", ...authEnv };
    const options = expensesService(env, { demoUsers: true, passwords });
    // The service's port is not known yet, and the redirect URI is not used.
    provider = await startDemoProvider({ redirectUris: ["http://localhost:1/auth/demo/callback"] });
    service = await createService({
      ...options,
      config: configuration({ demo: { provider, redirectUri: "http://localhost:1/auth/demo/callback" } }),
      signals: false,
      logDestination: { write: () => undefined },
      async routes(app, made) {
        await options.routes?.(app, made);
        app.get("/said", (req: IncomingMessage, res: ServerResponse) =>
          options.auth?.onIdentity?.(said, req, res),
        );
      },
    });
    await service.start();
  });

  after("stop both", async () => {
    await service[Symbol.asyncDispose]();
    await provider.stop();
  });

  const origin = (): string => `http://localhost:${service.address?.port}`;

  /** Returns the response to a browser that comes back with an identity, and the signed-in user or undefined. */
  async function comeBack(
    over: Partial<LoginIdentity>,
  ): Promise<{ status: number; to?: string; who?: string; text: string }> {
    said = identity(over);
    const answer = await request(origin()).get("/said");
    const session = cookiesOf(answer.headers).get("session");
    const { body } = await request(origin()).get("/whoami").set("Cookie", `session=${session}`);
    const { subject } = body as { subject?: string };
    return {
      status: answer.status,
      text: answer.text,
      ...(answer.headers["location"] === undefined ? {} : { to: answer.headers["location"] }),
      ...(subject === undefined ? {} : { who: subject }),
    };
  }

  it("OIDC-21 links an identity by a verified address in upper or lower case, and then recognises it by its id", async () => {
    const federated_id = "demo:linked";
    const first = await comeBack({ federated_id, email: clerk.toUpperCase(), email_verified: true });
    expect(first).to.include({ status: 303, to: "/account", who: "clerk-of-harbour-cafe" });
    for (const email of [null, "moved@elsewhere.example", "admin@harbour-cafe.example"]) {
      const { who } = await comeBack({ federated_id, email, email_verified: true });
      expect({ email, who }).to.deep.equal({ email, who: "clerk-of-harbour-cafe" });
    }
    await using db = createDatabase({ url: databaseUrl });
    const { rows } = await db.query("select subject from identities where federated_id = $1", [federated_id]);
    expect(rows).to.deep.equal([{ subject: "clerk-of-harbour-cafe" }]);
  });

  it("OIDC-21 refuses an address that the provider has not verified", async () => {
    const answer = await comeBack({ federated_id: "demo:thief", email: clerk, email_verified: false });
    expect(answer).to.include({ status: 403 }).and.not.to.have.property("who");
    expect(answer.text).to.contain("You have no account here");
    await using db = createDatabase({ url: databaseUrl });
    expect((await db.query("select from identities where federated_id = 'demo:thief'")).rowCount).to.equal(0);
  });

  it("OIDC-21 treats a lookalike address as a different address", async () => {
    // These are the Kelvin sign and a Cyrillic small letter.
    for (const email of ["cler\u212a@harbour-cafe.example", "\u0441lerk@harbour-cafe.example"]) {
      const answer = await comeBack({ federated_id: "demo:alike", email, email_verified: true });
      expect({ email, status: answer.status }).to.deep.equal({ email, status: 403 });
    }
  });

  it("OIDC-21 drops the identity of a deleted user, and signs in the new owner of the address", async () => {
    await using db = createDatabase({ url: databaseUrl });
    const email = "clerk@nordic-bikes.example";
    const wanted = { federated_id: "demo:gone", email, email_verified: true };
    expect((await comeBack(wanted)).who).to.equal("clerk-of-nordic-bikes");
    await db.query("delete from users where email = $1", [email]);
    expect((await comeBack(wanted)).status).to.equal(403);
    const heir = {
      subject: "heir",
      email: "Clerk@Nordic-Bikes.example",
      password: null,
      tenant: "nordic-bikes",
    };
    await addUser(db, { ...heir, scopes: [], roles: [] });
    expect((await comeBack(wanted)).who).to.equal("heir");
  });

  it("refuses an unknown person, and escapes the provider's strings", async () => {
    const email = "<script>alert(1)</script>@elsewhere.example";
    const answer = await comeBack({ federated_id: "demo:stranger", email, email_verified: true });
    expect(answer.status).to.equal(403);
    expect(answer.text).to.contain("&lt;script&gt;").and.not.to.contain("<script");
    expect((await comeBack({ federated_id: "demo:nobody" })).status).to.equal(403);
  });

  it("OIDC-8 redirects to the requested page", async () => {
    const wanted = { federated_id: "demo:linked", return_to: "/expenses?limit=3" };
    expect(await comeBack(wanted)).to.include({ status: 303, to: "/expenses?limit=3" });
  });

  it("is offered by the sign-in page, with return_to", async () => {
    const { text } = await request(origin()).get("/sign-in?return_to=/expenses%3Flimit%3D3");
    expect(text).to.contain(
      'href="/auth/demo/start?return_to=%2Fexpenses%3Flimit%3D3">Sign in with demo</a>',
    );
  });

  it("shows browsers a page for an invalid callback, and sends programs a problem", async () => {
    const callback = request(origin()).get("/auth/demo/callback?state=x&code=y").set("Accept", "text/html");
    const answer = await callback;
    expect({ status: answer.status, type: answer.type }).to.deep.equal({ status: 401, type: "text/html" });
    expect(answer.text).to.contain('<a href="/sign-in">Try again</a>');
    const program = await request(origin()).get("/auth/demo/callback?state=x&code=y");
    expect(program.type).to.equal("application/problem+json");
  });
});
