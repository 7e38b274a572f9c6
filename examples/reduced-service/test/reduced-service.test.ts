import { createService, type Service } from "@svc/express";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { makeCalls } from "../../support/readme-calls.ts";
import { notesService } from "../src/service.ts";

const secret = "a secret of the tests, 32 bytes or more";

async function start(env: Readonly<Record<string, string>>): Promise<Service & { readonly url: string }> {
  const service = await createService({
    ...notesService({ SVC_APP_NAME: "notes", SVC_PORT: "0", ...env }),
    signals: false,
    logDestination: { write: () => undefined },
  });
  await service.start();
  return Object.assign(service, { url: `http://127.0.0.1:${service.address?.port}` });
}

describe("the service of the reduced profile", () => {
  const env = { SVC_AUTH_SECRET: secret, SVC_AUTH_AUDIENCE: "notes", SVC_TENANCY_SOURCES: "token" };

  it("responds as its README documents", async () => {
    await using service = await start(env);
    const claims = { sub: "ann", aud: "notes", tenant_id: "harbour-cafe", scope: "notes:read" };
    const variables = new Map([["TOKEN", signToken(claims, secret)]]);
    const readme = new URL("../README.md", import.meta.url);
    expect(await makeCalls(readme, service.url, variables)).to.equal(6);
  });

  it("PROF-1 AUTH-35 treats every request as anonymous until a variable turns authentication on", async () => {
    await using service = await start({});
    const token = signToken({ aud: "notes", scope: "notes:read" }, secret);
    const asked = request(service.url).get("/me").set("Authorization", `Bearer ${token}`);
    expect((await asked).status).to.equal(401);
    expect((await request(service.url).get("/greeting")).status).to.equal(200);
  });
});
