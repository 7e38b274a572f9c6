import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README of @svc/openapi", function () {
  this.timeout(60_000);

  it("has a sample service with one validated route", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    expect(await (await fetch(`${url}/pens/7`)).json()).to.deep.equal({ id: 7 });
    expect((await fetch(`${url}/pens/x`)).status).to.equal(422);
    for (const path of ["/openapi.json", "/docs"]) expect((await fetch(url + path)).status).to.equal(200);
  });

  it("has a sample service with a described route and a plain Express route", async () => {
    await using sample = await runSample(readme, 1);
    const url = await sample.url;
    const put = async (body: unknown): Promise<Response> =>
      fetch(`${url}/pens/7`, {
        method: "PUT",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      });
    expect(await (await put({ colour: "blue" })).json()).to.deep.equal({ id: 7, colour: "blue" });
    const refused = await put({ colour: "green" });
    expect(refused.status).to.equal(422);
    const { errors } = (await refused.json()) as { errors: { loc: unknown }[] };
    expect(errors.map(({ loc }) => loc)).to.deep.equal([["body", "colour"]]);
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(document.paths)).to.deep.equal(["/old/{name}", "/pens/{id}"]);
    expect(await (await fetch(`${url}/docs`)).text()).to.contain("Stores a pen");
  });

  it("has a sample without Express", async () => {
    await using sample = await runSample(readme, 2);
    const { stdout } = await sample.ended;
    expect(stdout).to.contain("page: 2").and.to.contain("[ '/pens' ]");
  });
});
