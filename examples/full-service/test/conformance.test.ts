import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { expectConformance, secretIn } from "../../support/conformance.ts";
import { serviceFor } from "./support/running-service.ts";

const folder = new URL("../conformance/", import.meta.url);

describe("the full service, looked at from outside", function () {
  this.timeout(60_000);
  const env = { SVC_AUTH_SECRET: secretIn(folder) };
  const running = serviceFor(testDatabase({ name: "conformance" }), { seed: true, demoUsers: true }, env);

  it("VER-4 keeps the contract and the choices of the house", async () => {
    expect(await expectConformance(running.url, folder, "full")).to.be.above(100);
  });
});
