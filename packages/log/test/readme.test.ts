import { type RunningSample, runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

async function linesOf(sample: RunningSample, count: number): Promise<string[]> {
  while (sample.stdout().split("\n").length <= count) await new Promise((resolve) => setTimeout(resolve, 5));
  return sample.stdout().trimEnd().split("\n");
}

describe("the README of @svc/log", () => {
  it("LOG-2 LOG-3 COR-4 has a sample that writes an application record and an access record with the request id", async () => {
    await using sample = await runSample(readme, 0);
    await fetch(`${await sample.url}/orders/7`, { headers: { "x-request-id": "caller-1" } });
    const [inside, request] = (await linesOf(sample, 2)).map((line) => JSON.parse(line) as object);
    const ids = { service: "shop", env: "local", request_id: "caller-1" };
    expect(inside).to.include({ ...ids, order: "7", message: "looked up" });
    expect(request).to.include({ ...ids, http_path: "/orders/7", http_status: 200, message: "request" });
  });

  it("LOG-6 has a sample that writes text and omits quiet paths", async () => {
    await using sample = await runSample(readme, 1);
    const url = await sample.url;
    await fetch(`${url}/health`);
    await fetch(`${url}/hello`);
    const [line] = await linesOf(sample, 1);
    expect(line).to.match(/^\S+Z INFO {2}request .*http_path=\/hello http_status=200/);
  });

  it("LOG-3 has a pino-http sample that writes the fields of accessLog()", async () => {
    await using sample = await runSample(readme, 2);
    await fetch(await sample.url, { headers: { "x-request-id": "caller-1" } });
    const [inside, request] = (await linesOf(sample, 2)).map((line) => JSON.parse(line) as object);
    expect(inside).to.include({ request_id: "caller-1", message: "inside" });
    expect(request).to.include({
      request_id: "caller-1",
      message: "request",
      http_path: "/",
      http_status: 200,
    });
  });

  for (const [index, name, expected] of [
    [3, "winston", [{ message: "from winston" }, { message: "from the packages", password: "[redacted]" }]],
    [4, "pino", [{ message: "from pino" }]],
  ] as const) {
    it(`COR-4 has a sample whose lines, written by the application's ${name}, have the request id`, async () => {
      await using sample = await runSample(readme, index);
      await fetch(await sample.url, { headers: { "x-request-id": "caller-1" } });
      const written = (await linesOf(sample, expected.length + 1)).map((line) => JSON.parse(line) as object);
      const request = { message: "request", http_path: "/", http_status: 200 };
      expect(written).to.have.length(expected.length + 1);
      for (const [at, fields] of [...expected, request].entries()) {
        expect(written[at]).to.include({ request_id: "caller-1", ...fields });
      }
    });
  }
});
