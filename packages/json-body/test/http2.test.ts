import { once } from "node:events";
import { connect, createServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Middleware } from "@svc/context";
import { bodyLimit, bodyOf, jsonBody, rawBody, readText, requireContentType, textBody } from "@svc/json-body";
import { problemHandler, sendJson } from "@svc/problem";
import { expect } from "chai";

interface Answer {
  readonly status: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends one request without a Content-Length through `middleware`, on an HTTP/2 server. */
async function send(middleware: Middleware, body: string | undefined, type: string): Promise<Answer> {
  const onError = problemHandler();
  const server = createServer((request: Http2ServerRequest, response: Http2ServerResponse) => {
    // Node's HTTP/2 compatibility API works with HTTP/1 middleware, but its types do not match.
    const [req, res] = [request as unknown as IncomingMessage, response as unknown as ServerResponse];
    middleware(req, res, (error) => {
      if (error !== undefined) onError(error, req, res, () => undefined);
      else {
        let size = 0;
        req.on("data", (chunk: Buffer) => (size += chunk.length));
        req.on("error", () => undefined);
        req.on("end", () => sendJson(req, res, 200, { got: bodyOf(req) ?? null, size }));
        if (bodyOf(req) !== undefined) sendJson(req, res, 200, { got: bodyOf(req) });
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    const stream = client.request(
      { ":method": "POST", ":path": "/", "content-type": type },
      { endStream: body === undefined },
    );
    let status: number | undefined;
    let text = "";
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    if (body !== undefined) stream.end(body);
    await once(stream, "end");
    return { status, body: JSON.parse(text) as Answer["body"] };
  } finally {
    client.destroy();
    server.close();
  }
}

const json = "application/json";

describe("HTTP/2 bodies without a Content-Length", () => {
  it("LIM-1 are read as text and as bytes, and rejected when they are too large", async () => {
    expect(await send(textBody(), "é", "text/plain")).to.deep.equal({ status: 200, body: { got: "é" } });
    const bytes = { type: "Buffer", data: [0x7b, 0x7d] };
    expect(await send(rawBody(), "{}", json)).to.deep.equal({ status: 200, body: { got: bytes } });
    for (const reader of [textBody({ maxBytes: 20 }), rawBody({ maxBytes: 20 })])
      expect((await send(reader, "x".repeat(100), "text/plain")).status).to.equal(413);
  });

  it("LIM-1 are parsed, and rejected when they are too large", async () => {
    expect(await send(jsonBody(), '{"a":1}', json)).to.deep.equal({ status: 200, body: { got: { a: 1 } } });
    const refused = await send(jsonBody({ maxBytes: 20 }), JSON.stringify(["x".repeat(100)]), json);
    expect([refused.status, refused.body["detail"]]).to.deep.equal([413, "the body is larger than 20 bytes"]);
  });

  it("LIM-3 are counted by bodyLimit", async () => {
    const limit = bodyLimit({ maxBytes: 20 });
    expect((await send(limit, "x".repeat(20), "text/csv")).body).to.include({ size: 20 });
    expect((await send(limit, "x".repeat(21), "text/csv")).status).to.equal(413);
  });

  it("LIM-3 are read by readText, and rejected when they are too large", async () => {
    const echo: Middleware = (req, res, next) => {
      readText(req, { maxBytes: 20 }).then((text) => sendJson(req, res, 200, { text }), next);
    };
    expect((await send(echo, "x".repeat(20), "text/csv")).body).to.deep.equal({ text: "x".repeat(20) });
    expect((await send(echo, undefined, "text/csv")).body).to.deep.equal({ text: "" });
    const refused = await send(echo, "x".repeat(21), "text/csv");
    expect([refused.status, refused.body["detail"]]).to.deep.equal([413, "the body is larger than 20 bytes"]);
  });

  it("ERR-18 are rejected when they have a wrong type, while a request without a body passes", async () => {
    const guard = requireContentType(json);
    expect((await send(guard, "x", "text/plain")).status).to.equal(415);
    expect((await send(guard, undefined, "text/plain")).status).to.equal(200);
  });

  it("are rejected without the HTTP/1 header Connection", async () => {
    const warnings: string[] = [];
    const note = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", note);
    try {
      await send(jsonBody({ maxBytes: 1 }), "[1]", json);
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).to.deep.equal([]);
    } finally {
      process.off("warning", note);
    }
  });
});
