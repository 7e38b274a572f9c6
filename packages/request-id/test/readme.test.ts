import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const trace = "0af7651916cd43dd8448eb211c80319c";
const headers = { "X-Request-ID": "r-1", traceparent: `00-${trace}-b7ad6b7169203331-01`, tracestate: "a=1" };

describe("the README of @svc/request-id", () => {
  it("COR-1 COR-3 shows five lines that echo the id and pass it on with the trace", async () => {
    await using sample = await runSample(readme, 0);
    const answer = await fetch(await sample.url, { headers });
    expect(answer.headers.get("x-request-id")).to.equal("r-1");
    expect(await answer.json()).to.eql(headers);
  });

  it("COR-2 shows five lines that mint an id for a request without an id", async () => {
    await using sample = await runSample(readme, 0);
    const answer = await fetch(await sample.url);
    const id = answer.headers.get("x-request-id");
    expect(id).to.match(/^[0-9a-f]{32}$/);
    expect(await answer.json()).to.eql({ "X-Request-ID": id });
  });

  it("shows the id and the trace on a bare server", async () => {
    await using sample = await runSample(readme, 1);
    const answer = await fetch(await sample.url, { headers });
    expect(await answer.text()).to.equal(`r-1 ${trace} true`);
  });
});
