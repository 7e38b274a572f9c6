import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

/** Asks a sample and waits until it has printed a line. */
async function linePrinted(index: number, path: string): Promise<string> {
  await using sample = await runSample(readme, index);
  await (await fetch((await sample.url) + path)).text();
  while (!sample.stdout().includes("\n")) await new Promise((resolve) => setTimeout(resolve, 5));
  return sample.stdout();
}

describe("the README of @svc/context", () => {
  it("knows the tenant in a function that has no request", async () => {
    await using sample = await runSample(readme, 0);
    const answer = await fetch(await sample.url);
    expect(await answer.json()).to.eql({ tenant: "acme" });
  });

  it("reports the end of a response", async () => {
    expect(await linePrinted(1, "/")).to.equal("r-1 200 sent\n");
  });

  it("prints the template of a route with its mounts", async () => {
    expect(await linePrinted(2, "/t/acme/items/7")).to.equal("/t/:tenant/items/:id\n");
  });
});
