import { gzipSync } from "node:zlib";
import { freePort } from "@svc/dev-services";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { type OtlpServer, serveOtlp } from "../src/otlp-server.ts";

const PROTOBUF = "application/x-protobuf";
const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const inJson = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, name: "GET /a" }] }] }] });
/** The same span, with the fields trace_id (1), span_id (2) and name (5). */
const inProtobuf = Buffer.from(`0a28122612240a10${ids.traceId}1208${ids.spanId}2a06474554202f61`, "hex");

describe("the receiver of spans", () => {
  let address = "";
  let server: OtlpServer;
  beforeEach(async () => {
    address = `127.0.0.1:${await freePort()}`;
    server = await serveOtlp(address);
  });
  afterEach(() => server.stop());

  function post(body: string | Buffer, type: string, path = "/v1/traces", encoding = "identity") {
    const headers = { "content-type": type, "content-encoding": encoding };
    return fetch(`http://${address}${path}`, { method: "POST", body, headers });
  }

  it("accepts JSON and protobuf, even compressed", async () => {
    for (const [body, type] of [
      [inJson, "application/json"],
      [inProtobuf, PROTOBUF],
    ] as const) {
      expect((await post(body, type)).status).to.equal(200);
      const answer = await post(gzipSync(body), type, "/v1/traces", "gzip");
      expect([answer.status, answer.headers.get("content-type")]).to.deep.equal([200, type]);
    }
    expect(server.spans.map(({ traceId, name }) => [traceId, name])).to.deep.equal(
      Array.from({ length: 4 }, () => [ids.traceId, "GET /a"]),
    );
    expect(server.faults).to.deep.equal([]);
    expect(server.hasPrivateParts).to.equal(false);
  });

  it("reports a faulty request, but not one with metrics or logs", async () => {
    expect((await post("{}", "application/json", "/v1/metrics")).status).to.equal(404);
    expect(server.faults).to.deep.equal([]);
    expect((await post(inProtobuf.subarray(0, -1), PROTOBUF)).status).to.equal(400);
    expect(server.faults).to.have.length(1);
    expect(server.faults[0]).to.match(/truncated/);
  });

  it("keeps no span of a refused request", async () => {
    server.setRefusing(true);
    expect((await post(inJson, "application/json")).status).to.equal(400);
    server.setRefusing(false);
    expect((await post(inJson, "application/json", "/v1/traces?key=secret")).status).to.equal(200);
    expect(server.spans).to.have.length(1);
    expect(server.hasPrivateParts).to.equal(true);
  });

  it("rejects an address in use", async () => {
    expect((await rejection(serveOtlp(address))).message).to.equal(
      `serve-otlp: cannot listen on ${address}: EADDRINUSE`,
    );
  });
});
