import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { oidcLogin } from "@svc/oidc-login";
import { expect } from "chai";
import { hostileProvider } from "./support/hostile-provider.ts";
import { SECRET } from "./support/service.ts";

describe("the routes over HTTP/2", () => {
  it("complete a sign-in when the browser sends each cookie in its own header (OIDC-1, OIDC-7, OIDC-10)", async () => {
    await using provider = await hostileProvider();
    const redirectUri = "http://localhost/auth/acme/callback";
    await using login = oidcLogin({
      env: "local",
      cookieSecret: SECRET,
      providers: { acme: { ...provider.options, redirectUri } },
      onIdentity({ return_to, subject }, _req, res) {
        res.writeHead(303, { location: return_to, "set-cookie": `session=${subject}` });
        res.end();
      },
    });
    const server = createServer((req, res) => {
      // The middleware uses only members that HTTP/1 and HTTP/2 objects share.
      login(req as unknown as IncomingMessage, res as unknown as ServerResponse, () => {
        res.writeHead(404);
        res.end();
      });
    });
    server.listen(0);
    await once(server, "listening");
    const client = connect(`http://localhost:${(server.address() as AddressInfo).port}`);
    try {
      const ask = async (path: string, cookie: string[] = []): Promise<IncomingHttpHeaders> => {
        const stream = client.request({ ":path": path, ...(cookie.length > 0 ? { cookie } : {}) });
        stream.resume().end();
        const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
        return headers;
      };
      const started = await ask("/auth/acme/start?return_to=/orders");
      const { searchParams } = new URL(String(started.location));
      const [pair = ""] = (started["set-cookie"]?.[0] ?? "").split(";");
      provider.issue({ nonce: searchParams.get("nonce") });
      const path = `/auth/acme/callback?code=c&state=${searchParams.get("state") ?? ""}`;
      const ended = await ask(path, ["theme=dark", pair]);
      expect([ended[":status"], ended.location]).to.eql([303, "/orders"]);
      const [name = ""] = pair.split("=");
      expect(ended["set-cookie"]).to.eql([
        "session=ada",
        `${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`,
      ]);
      expect((await ask("/elsewhere"))[":status"]).to.equal(404);
    } finally {
      client.close();
      server.close();
    }
  });
});
