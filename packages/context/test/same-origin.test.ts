import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { isOfThisOrigin } from "@svc/context";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";

type Headers = Readonly<Record<string, string>>;

const answer: RequestListener = (req, res) => void res.end(String(isOfThisOrigin(req)));

const stacks: Readonly<Record<string, RequestListener>> = {
  "bare http": answer,
  ...Object.fromEntries(
    Object.entries(expressMajors).map(([name, express]) => [
      name,
      express().use(answer) as unknown as RequestListener,
    ]),
  ),
};

async function ask(url: string, headers: Headers): Promise<string> {
  return (await fetch(url, { method: "POST", headers })).text();
}

for (const [stack, listener] of Object.entries(stacks)) {
  describe(`isOfThisOrigin on ${stack}`, () => {
    it("AUTH-34 returns true for a request from a page with this origin", async () => {
      await using server = await listen(listener);
      const own: readonly Headers[] = [
        { "Sec-Fetch-Site": "same-origin" },
        { "Sec-Fetch-Site": "same-origin", Origin: server.url },
        { Origin: server.url },
        // A proxy may have terminated TLS without adding a forwarded header.
        { Origin: server.url.replace("http:", "https:") },
      ];
      for (const headers of own) {
        expect(await ask(server.url, headers), JSON.stringify(headers)).to.equal("true");
      }
    });

    it("AUTH-34 returns false for every other request", async () => {
      await using server = await listen(listener);
      const { port, url } = server;
      const foreign: readonly Headers[] = [
        {},
        { "Sec-Fetch-Site": "cross-site" },
        { "Sec-Fetch-Site": "same-site", Origin: url },
        { "Sec-Fetch-Site": "none", Origin: url },
        { "Sec-Fetch-Site": "", Origin: url },
        { "Sec-Fetch-Site": "same-origin, same-origin" },
        { "Sec-Fetch-Site": "Same-Origin" },
        { Origin: "null" },
        { Origin: "" },
        { Origin: "https://evil.example" },
        { Origin: "http://127.0.0.1" },
        { Origin: `http://127.0.0.1:${port + 1}` },
        { Origin: `http://127.0.0.1.evil.example:${port}` },
        { Origin: `http://127.0.0.1:${port}@evil.example` },
        { Origin: `http://evil.example#127.0.0.1:${port}` },
        { Origin: `${url}/` },
        { Origin: `${url}, ${url}` },
        { Origin: `ftp://127.0.0.1:${port}` },
        { Origin: `127.0.0.1:${port}` },
        { Referer: `${url}/page` },
      ];
      for (const headers of foreign) {
        expect(await ask(url, headers), JSON.stringify(headers)).to.equal("false");
      }
    });

    it("AUTH-34 compares hosts as a browser does: ignores letter case and the scheme's default port", async () => {
      await using server = await listen(listener);
      const said = async (host: string, origin: string): Promise<string> => {
        const head = `POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n`;
        const { body } = await rawRequest(server.port, `${head}Host: ${host}\r\nOrigin: ${origin}\r\n\r\n`);
        return body;
      };
      expect(await said("Shop.Example", "http://shop.example")).to.equal("true");
      expect(await said("shop.example:80", "http://shop.example")).to.equal("true");
      expect(await said("shop.example:443", "https://shop.example")).to.equal("true");
      expect(await said("shop.example:443", "http://shop.example")).to.equal("false");
      expect(await said("shop example", "http://shop.example")).to.equal("false");
    });

    it("AUTH-34 returns false for a request without Host", async () => {
      await using server = await listen(listener);
      const head = `POST / HTTP/1.0\r\nContent-Length: 0\r\nOrigin: ${server.url}\r\n\r\n`;
      expect((await rawRequest(server.port, head)).body).to.equal("false");
    });
  });
}

describe("isOfThisOrigin behind TLS", () => {
  for (const [major, express] of Object.entries(expressMajors)) {
    it(`AUTH-34 returns false for an http origin when ${major} trusts a proxy that terminates TLS`, async () => {
      const app = express();
      app.set("trust proxy", "loopback");
      app.use(answer);
      await using server = await listen(app);
      const proxied = { "X-Forwarded-Proto": "https" };
      const secure = server.url.replace("http:", "https:");
      expect(await ask(server.url, { ...proxied, Origin: secure })).to.equal("true");
      expect(await ask(server.url, { ...proxied, Origin: server.url })).to.equal("false");
      expect(await ask(server.url, { Origin: server.url })).to.equal("true");
    });
  }

  it("AUTH-34 returns false for an http origin on a server that terminates TLS itself", async () => {
    // With a pre-shared key the test needs no certificate.
    const shared = { ciphers: "PSK", maxVersion: "TLSv1.2" } as const;
    const psk = Buffer.alloc(16, 1);
    const tls = createTlsServer({ ...shared, pskCallback: () => psk }, answer).listen(0, "127.0.0.1");
    await once(tls, "listening");
    const { port } = tls.address() as AddressInfo;
    const asked = async (origin: string): Promise<string> => {
      const socket = connectTls({
        ...shared,
        pskCallback: () => ({ psk, identity: "a test" }),
        checkServerIdentity: () => undefined,
        host: "127.0.0.1",
        port,
      });
      const head = `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n`;
      socket.write(`${head}Content-Length: 0\r\nOrigin: ${origin}\r\n\r\n`);
      const text = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
      return text.slice(text.indexOf("\r\n\r\n") + 4);
    };
    try {
      expect(await asked(`https://127.0.0.1:${port}`)).to.equal("true");
      expect(await asked(`http://127.0.0.1:${port}`)).to.equal("false");
    } finally {
      tls.closeAllConnections();
      tls.close();
    }
  });
});

describe("isOfThisOrigin over HTTP/2", () => {
  it("AUTH-34 compares the origin with :authority", async () => {
    const server = createHttp2Server((req, res) => {
      // Node's HTTP/2 compatibility API works with an HTTP/1 listener, but its types do not match.
      res.end(String(isOfThisOrigin(req as unknown as IncomingMessage)));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = connect(url);
    const asked = async (headers: Headers): Promise<string> => {
      const stream = client.request({ ":method": "POST", ":path": "/", ...headers }).end();
      return Buffer.concat((await stream.toArray()) as Buffer[]).toString();
    };
    try {
      expect(await asked({ origin: url })).to.equal("true");
      expect(await asked({ "sec-fetch-site": "same-origin" })).to.equal("true");
      expect(await asked({ origin: "http://127.0.0.1:1" })).to.equal("false");
      expect(await asked({})).to.equal("false");
    } finally {
      client.destroy();
      server.close();
    }
  });
});
