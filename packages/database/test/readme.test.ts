import { freePort, testDatabase } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const sampleUrl = "postgres://app:secret@127.0.0.1:5432/app";

describe("README of @svc/database", function () {
  this.timeout(60_000);
  const postgres = testDatabase({ name: "readme" });

  it("shows a service that answers from the database", async () => {
    await using sample = await runSample(readme, 0, { replace: { [sampleUrl]: postgres.url } });
    const url = await sample.url;
    expect(await (await fetch(`${url}/sum?of=41`)).json()).to.deep.equal({ sum: 42 });
    expect(await (await fetch(`${url}/ready`)).json()).to.deep.equal({ healthy: true, detail: "connected" });
  });

  it("ERR-1 shows a service that answers a 503 problem with Retry-After while there is no database", async () => {
    const nowhere = `postgres://app:secret@127.0.0.1:${await freePort()}/app`;
    await using sample = await runSample(readme, 0, { replace: { [sampleUrl]: nowhere } });
    const url = await sample.url;
    const answer = await fetch(`${url}/sum`);
    expect(answer.status).to.equal(503);
    expect(answer.headers.get("content-type")).to.equal("application/problem+json");
    expect(Number(answer.headers.get("retry-after"))).to.be.at.least(1);
    expect(await answer.json()).to.include({
      title: "Service Unavailable",
      detail: "the database is not answering; retry shortly",
      instance: "/sum",
    });
    const ready = await fetch(`${url}/ready`);
    expect(ready.status).to.equal(503);
    expect(await ready.json()).to.deep.equal({ healthy: false, detail: "not answering (ECONNREFUSED)" });
  });
});
