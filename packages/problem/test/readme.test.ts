import { expect } from "chai";
import { rawRequest, runSample } from "@svc/test-support";
import { ask } from "./support/stacks.ts";

const readme = new URL("../README.md", import.meta.url);

describe("the README", () => {
  it("ERR-2 ERR-4 has a first sample that responds with the quoted document", async () => {
    await using sample = await runSample(readme, 0);
    const { status, headers, body } = await ask(`${await sample.url}/orders/7?full=1`);
    expect(status).to.equal(404);
    expect(headers.get("content-type")).to.equal("application/problem+json");
    expect(body).to.deep.equal({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: "there is no order 7",
      instance: "/orders/7",
      request_id: headers.get("x-request-id"),
    });
    expect((await ask(`${await sample.url}/orders/7`, { method: "PUT" })).status).to.equal(405);
  });

  it("ERR-21 has a sample that sends problems for requests that Node itself would refuse", async () => {
    await using sample = await runSample(readme, 1);
    const port = Number(new URL(await sample.url).port);
    const { status, headers } = await rawRequest(port, "GET / HTTP/1.1\r\n\r\n");
    expect([status, headers["content-type"]]).to.deep.equal([400, "application/problem+json"]);
  });

  it("ERR-1 has a sample without Express that responds with problems", async () => {
    await using sample = await runSample(readme, 2);
    expect((await ask(`${await sample.url}/?name=you`)).body).to.deep.equal({ hello: "you" });
    expect((await ask(await sample.url)).body).to.include({ status: 400, detail: "the name is missing" });
  });
});
