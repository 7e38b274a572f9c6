import { loadTest, LoadTestError } from "@svc/load-test";
import { freePort } from "@svc/dev-services";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { readDescription } from "../src/description.ts";
import { resolveOptions } from "../src/options.ts";
import { startRawTarget, writeForever } from "./support/raw-target.ts";
import { startTarget, type TargetOptions } from "./support/target.ts";

const hint = "give --route to load without a description";
const fast = { clients: [1], seconds: 0.1, warmUpSeconds: 0 };

async function failureOf(options: TargetOptions): Promise<LoadTestError> {
  await using target = await startTarget(options);
  const error = await rejection(loadTest({ url: target.url, ...fast }));
  expect(error).to.be.instanceOf(LoadTestError);
  expect(target.received).to.deep.equal([]);
  return error as unknown as LoadTestError;
}

describe("the description of the service", () => {
  const refused: readonly (readonly [string, TargetOptions, string])[] = [
    ["a missing one", { descriptionStatus: 404 }, "answered 404"],
    ["a redirect", { descriptionStatus: 302 }, "answered 302"],
    ["one that is refused", { descriptionStatus: 401 }, "answered 401"],
    ["HTML", { description: "<!doctype html>" }, "did not return a JSON object (application/json)"],
    ["a list", { description: [] }, "did not return a JSON object (application/json)"],
    ["an empty body", { description: "" }, "did not return a JSON object (application/json)"],
    ["Swagger 2.0", { description: { swagger: "2.0" } }, 'answered "2.0", not OpenAPI 3.0 or 3.1'],
    ["OpenAPI 4", { description: { openapi: "4.0.0" } }, 'answered "4.0.0", not OpenAPI 3.0 or 3.1'],
    ["a version that is a number", { description: { openapi: 3 } }, "answered 3, not OpenAPI 3.0 or 3.1"],
    [
      "a version that is nested deeply",
      { description: `{"openapi":${"[".repeat(20_000)}${"]".repeat(20_000)}}` },
      "answered a version that is not a string, not OpenAPI 3.0 or 3.1",
    ],
    ["another object", { description: {} }, "answered no version, not OpenAPI 3.0 or 3.1"],
    [
      "more than 5 MiB",
      { description: { openapi: "3.1.0", more: "x".repeat(5 * 1024 ** 2) } },
      "answered more than 5 MiB",
    ],
  ];
  for (const [what, options, expected] of refused) {
    it(`LOAD-1 is rejected, with what /openapi.json returned, for ${what}`, async () => {
      const { code, message } = await failureOf(options);
      expect(message).to.equal(`GET /openapi.json ${expected}; ${hint}`);
      expect(code).to.equal("ERR_SVC_LOAD_TEST_DESCRIPTION");
    });
  }

  it("LOAD-1 may be OpenAPI 3.0 or 3.1", async () => {
    for (const openapi of ["3.0.3", "3.1.0", "3.1"]) {
      await using target = await startTarget({ description: { openapi, paths: { "/items": { get: {} } } } });
      const { routes } = await loadTest({ url: target.url, ...fast });
      expect(routes).to.deep.equal(["GET /items"]);
    }
  });

  it("is read below the path of the base URL", async () => {
    await using target = await startTarget();
    const { steps } = await loadTest({ url: `${target.url}/v1/`, ...fast });
    expect(steps[0]?.successes).to.be.above(0);
    expect(new Set(target.requests.map(({ line }) => line))).to.deep.equal(
      new Set(["GET /v1/openapi.json", "GET /v1/items", "GET /v1/ready"]),
    );
  });

  it("causes ERR_SVC_LOAD_TEST_TARGET if the service does not listen", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const error = await rejection(loadTest({ url, routes: ["/items"] }));
    expect(error.code).to.equal("ERR_SVC_LOAD_TEST_TARGET");
    expect(error.message).to.match(/^cannot connect to http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/);
  });

  it("is reported as failed if the connection ends before the response", async () => {
    await using target = await startTarget({ description: "" });
    target.server.prependListener("request", (req) => req.socket.destroy());
    const error = await rejection(loadTest({ url: target.url }));
    expect(error.message).to.match(/^GET \/openapi\.json failed: .*; give --route/);
    expect(error.code).to.equal("ERR_SVC_LOAD_TEST_DESCRIPTION");
  });

  for (const [what, head, again] of [
    ["never answers", "", ""],
    ["sends interim responses without end", "", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["sends a body without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"],
  ] as const) {
    it(`is reported as failed after the time limit if the service ${what}`, async () => {
      await using target = await startRawTarget((socket) => {
        socket.write(head);
        writeForever(socket, again);
      });
      const settings = resolveOptions({ url: `${target.url}/slow` });
      const error = await rejection(readDescription(settings, undefined, { ms: 100, bytes: 1000 }));
      expect(error.message).to.equal(`GET /slow/openapi.json did not answer within 0.1 s; ${hint}`);
    });
  }

  it("LOAD-2 is not needed for a literal path, and the report states that it is missing", async () => {
    await using target = await startTarget({ descriptionStatus: 404 });
    const report = await loadTest({ url: target.url, routes: ["/items/7?full=1"], ...fast });
    expect(report.withoutDescription).to.equal("GET /openapi.json answered 404");
    expect(report.routes).to.deep.equal(["GET /items/7?full=1"]);
    expect(new Set(target.received)).to.deep.equal(new Set(["GET /items/7?full=1"]));
  });

  it("LOAD-2 is required for a route with path parameters and for a method that writes", async () => {
    await using target = await startTarget({ descriptionStatus: 404 });
    for (const options of [{ routes: ["/items/{id}"] }, { routes: ["/items"], methods: ["POST"] }]) {
      const error = await rejection(loadTest({ url: target.url, ...options, ...fast }));
      expect(error.message).to.equal(`GET /openapi.json answered 404; ${hint}`);
    }
  });
});
