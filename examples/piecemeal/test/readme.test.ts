import { expect } from "chai";
import { makeCalls } from "../../support/readme-calls.ts";
import { conditions, started } from "../../support/started.ts";

it("the README of piecemeal shows calls that respond as documented", async function () {
  this.timeout(30_000);
  await using app = await started(new URL("../start.js", import.meta.url), conditions.source);
  expect(await makeCalls(new URL("../README.md", import.meta.url), app.url)).to.equal(6);
});
