import { createService } from "@svc/express";
import { expect } from "chai";
import { expectConformance, secretIn } from "../../support/conformance.ts";
import { notesService } from "../src/service.ts";

const folder = new URL("../conformance/", import.meta.url);

describe("the service of the reduced profile", function () {
  this.timeout(180_000);

  it("VER-4 passes the conformance kit with the conventions", async () => {
    const env = {
      SVC_APP_NAME: "notes",
      SVC_PORT: "0",
      SVC_AUTH_SECRET: secretIn(folder),
      SVC_AUTH_AUDIENCE: "notes",
      SVC_TENANCY_SOURCES: "token",
    };
    await using service = await createService({
      ...notesService(env),
      signals: false,
      logDestination: { write: () => undefined },
    });
    await service.start();
    const url = `http://127.0.0.1:${service.address?.port}`;
    expect(await expectConformance(url, folder, "reduced")).to.be.above(60);
  });
});
