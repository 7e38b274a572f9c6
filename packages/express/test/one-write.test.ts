import { once } from "node:events";
import { get, request as ask, ServerResponse, type IncomingMessage } from "node:http";
import { expect } from "chai";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function fetchBytes(url: string): Promise<{ response: IncomingMessage; bytes: Buffer }> {
  const [response] = (await once(get(url), "response")) as [IncomingMessage];
  return { response, bytes: await bytesOf(response) };
}

describe("a binary body", () => {
  onBothMajors((express) => {
    for (const size of [0, 1, 256, 16_384, 16_385, 100_000]) {
      it(`of ${size} bytes arrives unchanged`, async () => {
        const body = Buffer.alloc(size, everyByte);
        await using test = await startService({
          app: express(),
          routes(app) {
            app.get("/sent", (_req, res) => void res.type("bin").send(body));
            app.get("/ended", (_req, res) => void res.end(body));
            app.get("/chunked", (_req, res) => void res.setHeader("Transfer-Encoding", "chunked").end(body));
            app.get("/written", (_req, res) => {
              res.write(body.subarray(0, size / 2));
              res.end(body.subarray(size / 2));
            });
          },
        });
        for (const path of ["/sent", "/ended", "/chunked", "/written"]) {
          const { bytes } = await fetchBytes(`${test.url}${path}`);
          expect(bytes.equals(body), path).to.equal(true);
        }
        const { response } = await fetchBytes(`${test.url}/ended`);
        expect(response.headers["content-length"]).to.equal(String(size));
      });
    }

    it("of JSON text arrives in UTF-8, with its length in Content-Length", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => void app.get("/", (_req, res) => void res.json({ text: "grün ✓ 日本 \u{1f600}" })),
      });
      const { response, bytes } = await fetchBytes(`${test.url}/`);
      expect(JSON.parse(bytes.toString("utf8"))).to.deep.equal({ text: "grün ✓ 日本 \u{1f600}" });
      expect(response.headers["content-length"]).to.equal(String(bytes.length));
    });

    it("is not sent for HEAD and 204", async () => {
      await using test = await startService({
        app: express(),
        routes(app) {
          app.get("/", (_req, res) => void res.end(Buffer.from("bytes")));
          app.get("/none", (_req, res) => void res.status(204).end(Buffer.from("bytes")));
        },
      });
      const head = ask(`${test.url}/`, { method: "HEAD" }).end();
      const [response] = (await once(head, "response")) as [IncomingMessage];
      expect(await bytesOf(response)).to.have.lengthOf(0);
      expect((await fetchBytes(`${test.url}/none`)).bytes).to.have.lengthOf(0);
    });

    it("is sent, and a callback in the second or third argument of end() is called", async () => {
      const called: string[] = [];
      await using test = await startService({
        app: express(),
        routes(app) {
          app.get("/second", (_req, res) => void res.end(Buffer.from("a"), () => called.push("second")));
          app.get(
            "/third",
            (_req, res) => void res.end(Buffer.from("a"), "utf8", () => called.push("third")),
          );
        },
      });
      await fetchBytes(`${test.url}/second`);
      await fetchBytes(`${test.url}/third`);
      expect(called).to.deep.equal(["second", "third"]);
    });

    it("is sent through an end() that a tool has replaced", async () => {
      // oxlint-disable-next-line typescript/unbound-method -- restored below
      const { end } = ServerResponse.prototype;
      let seen = 0;
      await using test = await startService({
        app: express(),
        routes: (app) => void app.get("/", (_req, res) => void res.send(Buffer.from("bytes"))),
      });
      ServerResponse.prototype.end = function watched(this: ServerResponse, ...args: Parameters<typeof end>) {
        seen++;
        return end.apply(this, args);
      } as typeof end;
      try {
        expect((await fetchBytes(`${test.url}/`)).bytes.toString()).to.equal("bytes");
      } finally {
        ServerResponse.prototype.end = end;
      }
      expect(seen).to.equal(1);
    });
  });
});
