import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, createServer, type OutgoingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { jwtAuth, principalOf, requireAuth } from "@svc/jwt-auth";
import { problemHandler } from "@svc/problem";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";

const token = forge({ algorithm: "HS256" });

describe("jwtAuth() over HTTP/2", () => {
  it("accepts bearer and cookie tokens, and compares Origin with :authority (AUTH-33, AUTH-34)", async () => {
    const auth = jwtAuth({
      keys: everyKey(),
      algorithms: ["HS256"],
      now,
      tokenFrom: (req) => req.headers.cookie?.slice("s=".length),
    });
    const guard = requireAuth();
    const onError = problemHandler();
    const server = createServer((request, response) => {
      const req = request as unknown as IncomingMessage;
      const res = response as unknown as ServerResponse;
      const fail = (error: unknown): void => onError(error, req, res, () => undefined);
      auth(req, res, (error) => {
        if (error !== undefined) fail(error);
        else
          guard(req, res, (fault) =>
            fault === undefined ? res.end(principalOf(req)?.subject) : fail(fault),
          );
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = connect(url);
    try {
      const post = { ":method": "POST", cookie: `s=${token}` };
      expect(await status(client, {})).to.equal(401);
      expect(await status(client, { authorization: `Bearer ${token}` })).to.equal(200);
      expect(await status(client, { cookie: `s=${token}` })).to.equal(200);
      expect(await status(client, post)).to.equal(403);
      expect(await status(client, { ...post, origin: url })).to.equal(200);
      expect(await status(client, { ...post, origin: "http://127.0.0.1:1" })).to.equal(403);
      expect(await status(client, { ...post, "sec-fetch-site": "same-origin" })).to.equal(200);
    } finally {
      client.destroy();
      server.close();
    }
  });
});

async function status(client: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<unknown> {
  const stream = client.request({ ":path": "/", ...headers }).end();
  const [answer] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
  stream.resume();
  return answer[":status"];
}
