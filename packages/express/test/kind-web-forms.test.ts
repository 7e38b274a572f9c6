import zlib from "node:zlib";
import { expect } from "chai";
import type { Express } from "express";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const FORM = "application/x-www-form-urlencoded";

function routes(app: Express): void {
  app.post("/echo", (req, res) => void res.json(req.body));
}

/** Posts a form as a page of the same origin does. */
async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; body: Readonly<Record<string, unknown>> }> {
  const response = await fetch(`${url}/echo`, {
    method: "POST",
    body,
    headers: { "Content-Type": FORM, Origin: url, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Readonly<Record<string, unknown>>,
  };
}

describe("the forms of a web service", () => {
  onBothMajors((express) => {
    it("PROF-7 are parsed into req.body", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const { status, body } = await post(test.url, "name=Ada+L&tag=a&tag=b&constructor=c&hasOwnProperty=d");
      expect(status).to.equal(200);
      expect(body).to.deep.equal({ name: "Ada L", tag: ["a", "b"], constructor: "c", hasOwnProperty: "d" });
    });

    it("PROF-7 are not parsed by an api service", async () => {
      await using test = await startService({ app: express(), routes });
      expect((await post(test.url, "a=1")).status).to.equal(415);
    });

    it("are parsed in addition to JSON bodies", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const { body } = await post(test.url, '{"a":1}', { "Content-Type": "application/json" });
      expect(body).to.deep.equal({ a: 1 });
    });

    it("LIM-1 ERR-18 are rejected with problems if they are invalid", async () => {
      await using test = await startService({
        kind: "web",
        app: express(),
        routes,
        toml: "max_body_bytes = 9000\n",
      });
      const bomb = zlib.gzipSync(Buffer.alloc(1024 * 1024, "a")) as Uint8Array<ArrayBuffer>;
      const cases: readonly (readonly [number, string | Uint8Array<ArrayBuffer>, Record<string, string>])[] =
        [
          [413, `a=${"x".repeat(9000)}`, {}],
          [413, "a=1&".repeat(1001), {}],
          [413, bomb, { "Content-Encoding": "gzip" }],
          [400, "a=1", { "Content-Encoding": "gzip" }],
          [415, "a=1", { "Content-Encoding": "lzma" }],
          [415, "a=1", { "Content-Type": `${FORM}; charset=latin1` }],
          [415, "--b--", { "Content-Type": "multipart/form-data; boundary=b" }],
          [400, "a=%zz", {}],
          [400, "__proto__=x", {}],
        ];
      for (const [expected, form, headers] of cases) {
        const { status, headers: sent, body } = await post(test.url, form, headers);
        const name = `${String(form).slice(0, 20)} ${JSON.stringify(headers)}`;
        expect(status, name).to.equal(expected);
        expect(sent.get("content-type"), name).to.equal("application/problem+json");
        expect(body, name).to.include.keys("type", "title", "status", "detail", "instance", "request_id");
      }
    });

    it("ERR-18 are rejected with a 415 whose Accept names the URL-encoded type if they are multipart", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const { headers } = await post(test.url, "--b--", {
        "Content-Type": "multipart/form-data; boundary=b",
      });
      expect(headers.get("accept")).to.contain(FORM);
    });
  });
});
