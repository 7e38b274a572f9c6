import { expect } from "chai";
import { requireContentType } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { rawRequest } from "@svc/test-support";
import { post, serveAll, stacks } from "./support/stacks.ts";

describe("requireContentType", () => {
  it("rejects an empty list of types, and malformed types", () => {
    expect(() => requireContentType()).to.throw(ConfigurationError, "at least one media type");
    expect(() => requireContentType("json")).to.throw(ConfigurationError, "json:");
    expect(() => requireContentType("Application/JSON")).to.throw(ConfigurationError, "lower case");
  });

  it("exposes its accepted types in a symbol property of the middleware", () => {
    const guard = requireContentType("application/json") as unknown as Record<symbol, unknown>;
    expect(guard[Symbol.for("@svc/guard")]).to.deep.equal({
      kind: "content-type",
      values: ["application/json"],
    });
  });
});

for (const stack of stacks) {
  describe(`requireContentType on ${stack}`, () => {
    it("ERR-18 rejects a body with another type, or without one, with 415 and names the accepted types", async () => {
      await using server = await serveAll(stack, [requireContentType("application/json", "text/csv")]);
      const { status, headers, body } = await post(server.url, "x", { "Content-Type": "text/plain" });
      expect(status).to.equal(415);
      expect(headers.get("accept")).to.equal("application/json, text/csv");
      expect(headers.get("content-type")).to.equal("application/problem+json");
      expect(body.detail).to.equal("the content type must be one of: application/json, text/csv");
      const none = await rawRequest(server.port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
      expect(none.status).to.equal(415);
    });

    it("ERR-18 accepts the listed types, with parameters and in any letter case, and requests without a body", async () => {
      const types = ["application/json", "image/*", "application/*+json"];
      await using server = await serveAll(stack, [requireContentType(...types)]);
      const statusOf = async (type: string): Promise<number> =>
        (await post(server.url, "x", { "Content-Type": type })).status;
      expect(await statusOf("Application/JSON; charset=utf-8")).to.equal(200);
      expect(await statusOf("image/png")).to.equal(200);
      expect(await statusOf("application/vnd.x+json")).to.equal(200);
      expect(await statusOf("image/")).to.equal(415);
      expect(await statusOf("application/+json")).to.equal(415);
      expect((await fetch(server.url)).status).to.equal(200);
    });

    it("LIM-2 closes the connection of a rejected body with unknown length", async () => {
      await using server = await serveAll(stack, [requireContentType("application/json")]);
      const { status, headers } = await rawRequest(
        server.port,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
      );
      expect([status, headers["connection"]]).to.deep.equal([415, "close"]);
    });
  });
}
