import { gzipSync } from "node:zlib";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express, Request, Response } from "express";
import type { ServiceOptions } from "@svc/express";
import { onBothMajors } from "./support/majors.ts";
import { refusalOf } from "./support/refusal-of.ts";
import { startService, type TestService } from "./support/test-service.ts";

function show(req: Request, res: Response): void {
  const body = req.body as unknown;
  res.json(Buffer.isBuffer(body) ? { buffer: body.toString("latin1") } : { body });
}

async function readStream(req: Request, res: Response): Promise<void> {
  expect(req.body).to.equal(undefined);
  let text = "";
  for await (const chunk of req) text += String(chunk);
  res.json({ stream: text });
}

function routes(app: Express): void {
  app.post("/streams/json", (req, res, next) => {
    readStream(req, res).catch(next);
  });
  app.all(/.*/, show);
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Post {
  readonly body?: string | Buffer | undefined;
  readonly type?: string;
  readonly encoding?: string;
  readonly chunked?: boolean;
}

async function post(
  { url }: TestService,
  path: string,
  { body = '{ "a":1 }', type = "application/json", encoding = "identity", chunked = false }: Post = {},
): Promise<Answer> {
  const bytes = Buffer.from(body) as Buffer<ArrayBuffer>;
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { "Content-Type": type, "Content-Encoding": encoding },
    ...(chunked ? { body: new Blob([bytes]).stream(), duplex: "half" } : { body: bytes }),
  });
  return { status: answer.status, body: (await answer.json()) as Answer["body"] };
}

const options: ServiceOptions = {
  rawBodyPaths: ["/webhooks", "/Exact/one", "/streams/raw"],
  streamBodyPaths: ["/streams"],
};
const parsed = { body: { a: 1 } };
const raw = { buffer: '{ "a":1 }' };

describe("createService({ rawBodyPaths, streamBodyPaths })", function () {
  this.timeout(30_000);

  onBothMajors((express) => {
    const start = (more: object = {}): Promise<TestService> =>
      startService({ ...options, app: express() as Express, routes, ...more });

    it("sets req.body to the raw bytes at a path and below it, in any letter case, and parses JSON elsewhere", async () => {
      await using test = await start();
      for (const path of ["/webhooks", "/webhooks/", "/webhooks/a/b?c=/orders", "/WEBHOOKS/a", "/exact/one"])
        expect((await post(test, path)).body, path).to.deep.equal(raw);
      for (const path of [
        "/",
        "/orders",
        "/webhooksx",
        "/a/webhooks",
        "/exact",
        "/exact/ones",
        "/?a=/webhooks",
      ])
        expect((await post(test, path)).body, path).to.deep.equal(parsed);
    });

    it("ERR-18 accepts bodies of every type and empty bodies on raw paths", async () => {
      await using test = await start();
      for (const type of ["text/xml", "application/x-www-form-urlencoded", "application/octet-stream"])
        expect((await post(test, "/webhooks", { body: "a=1\u00e9", type })).body).to.deep.equal({
          buffer: Buffer.from("a=1\u00e9").toString("latin1"),
        });
      expect((await post(test, "/webhooks", { body: "" })).body).to.deep.equal({ buffer: "" });
    });

    it("LIM-1 LIM-3 rejects raw bodies and streams over the limit with 413, and compressed raw bodies with 415", async () => {
      await using test = await start({ toml: "max_body_bytes = 100" });
      for (const path of ["/webhooks", "/streams/json"]) {
        for (const chunked of [false, true]) {
          const { status, body } = await post(test, path, { body: `"${"x".repeat(200)}"`, chunked });
          expect([path, status, body["detail"]]).to.deep.equal([
            path,
            413,
            "the body is larger than 100 bytes",
          ]);
        }
      }
      const packed = await post(test, "/webhooks", { body: gzipSync("{}"), encoding: "gzip" });
      expect(packed.status).to.equal(415);
    });

    it("reads the path of a request target as Express does", async () => {
      const hooks = (to: Express): void => {
        to.post("/webhooks/github", show);
        to.use((req, res) => void res.json({ elsewhere: req.body as unknown }));
      };
      for (const toml of ["", "tune = false"]) {
        await using test = await start({ routes: hooks, toml });
        const send = async (target: string): Promise<string> => {
          const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
          return (await rawRequest(test.port, `${head}Content-Length: 2\r\nConnection: close\r\n\r\n{}`))
            .body;
        };
        for (const target of [
          "/webhooks/github",
          "http://a.example/webhooks/github",
          "http://u@a.example/webhooks/github",
          "/webhooks\\github#x",
        ])
          expect(await send(target), target).to.contain('{"buffer":"{}"}');
        for (const target of ["/orders", "http://a.example/orders"])
          expect(await send(target), target).to.contain('{"elsewhere":{}}');
      }
    });

    it("leaves the body of a stream path to the route; the longer path takes precedence", async () => {
      await using test = await start();
      expect((await post(test, "/streams/json")).body).to.deep.equal({ stream: '{ "a":1 }' });
      expect((await post(test, "/streams/raw")).body).to.deep.equal(raw);
    });
  });

  it("combines the paths from the file, the environment and the code", async () => {
    const toml = 'raw_body_paths = "${RAW}"\nstream_body_paths = ["/streams"]';
    await using test = await startService({
      toml,
      env: { RAW: '["/from-env"]' },
      rawBodyPaths: ["/from-code"],
      routes,
    });
    for (const path of ["/from-env", "/from-code/a"])
      expect((await post(test, path)).body, path).to.deep.equal(raw);
    expect((await post(test, "/streams/json")).body).to.deep.equal({ stream: '{ "a":1 }' });
    expect((await post(test, "/orders")).body).to.deep.equal(parsed);
  });

  it("rejects a path in the code that is in the other list in the file, and invalid paths in the file", async () => {
    const silent = { logDestination: { write: () => undefined } };
    const toml = 'raw_body_paths = ["/a"]\nstream_body_paths = ["/b"]';
    expect(await refusalOf({ ...silent, rawBodyPaths: ["/B"], streamBodyPaths: ["/A"] }, toml))
      .to.contain("streamBodyPaths: contains /A, which is also in service.raw_body_paths")
      .and.to.contain("rawBodyPaths: contains /B, which is also in service.stream_body_paths");
    expect(await refusalOf(silent, 'raw_body_paths = ["/a"]\nstream_body_paths = ["/A"]')).to.contain(
      "service.stream_body_paths: contains /A, which is also in raw_body_paths",
    );
    expect(await refusalOf(silent, 'raw_body_paths = ["/a/"]')).to.contain(
      'service.raw_body_paths: must be a list in which each entry is a path such as "/webhooks"',
    );
  });

  it("rejects malformed paths, and a path in both lists", async () => {
    for (const path of [
      "webhooks",
      "/",
      "/webhooks/",
      "/hooks/:name",
      "/hooks/*",
      "/a//b",
      "/a/../b",
      "/a?b",
    ]) {
      const message = await refusalOf({ rawBodyPaths: [path], streamBodyPaths: [path] });
      for (const option of ["rawBodyPaths", "streamBodyPaths"]) {
        expect(message).to.contain(
          `${option}: must be a list in which each entry is a path such as "/webhooks" without a slash at its end`,
        );
      }
    }
    const silent = { logDestination: { write: () => undefined } };
    expect(await refusalOf({ ...silent, rawBodyPaths: ["/a"], streamBodyPaths: ["/A"] })).to.contain(
      "streamBodyPaths: contains /A, which is also in rawBodyPaths",
    );
  });
});
