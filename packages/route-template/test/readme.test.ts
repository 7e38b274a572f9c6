import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("a sample in the README of @svc/route-template", () => {
  it("prints the template of a route with its mounts", async () => {
    await using sample = await runSample(readme, 0);
    await (await fetch(`${await sample.url}/t/acme/items/7`)).text();
    while (!sample.stdout().includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(sample.stdout()).to.equal("/t/:tenant/items/:id\n");
  });

  it("prints each route with its guards", async () => {
    await using sample = await runSample(readme, 1);
    await sample.url;
    while (sample.stdout().split("\n").length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(sample.stdout()).to.equal("GET /orders scopes orders:read\nPOST /orders scopes orders:write\n");
  });
});
