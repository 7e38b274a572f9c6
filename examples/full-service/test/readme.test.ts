import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { makeCalls } from "../../support/readme-calls.ts";
import { serviceFor } from "./support/running-service.ts";

describe("the README of the full service", () => {
  const running = serviceFor(testDatabase({ name: "readme" }), { seed: true, demoUsers: true });

  it("shows calls that answer what it says", async () => {
    expect(await makeCalls(new URL("../README.md", import.meta.url), running.url)).to.equal(23);
  });
});
