// A service of @svc/express with the routes of httpbin that interop.test.ts requests. It sends its port to its parent process,
// and exits when that process exits.
import { createService } from "@svc/express";
import type { Application, Request, Response } from "express";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";

const alphabet = Buffer.alloc(1024, "abcdefghijklmnopqrstuvwxyz");
const random = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * at) % 251));

function routes(app: Application): void {
  app.get("/get", (req, res) => void res.json({ args: req.query }));
  app.get("/headers", (req, res) => void res.json({ headers: { "X-Large": req.get("x-large") } }));
  app.get("/html", (_req, res) => void res.send("<h1>Moby-Dick</h1>"));
  app.get("/etag/abc", (_req, res) => void res.send("cached"));
  app.get("/range/1024", sendRange);
  app.get("/gzip", (_req, res) => {
    res.set("Content-Encoding", "gzip").type("json").send(gzipSync('{"gzipped":true}'));
  });
  app.get("/status/500", () => {
    throw new Error("for the test");
  });
  app.get("/redirect-to", (_req, res) => res.redirect("/get"));
  app.get("/response-headers", (req, res) => void res.set("large", req.query["large"] as string).end());
  app.get("/cookies/set", (_req, res) => res.cookie("a", "1").cookie("b", "2").redirect("/cookies"));
  app.get("/stream-bytes/20000", sendChunks);
  app.get("/unsized", (req, res) => {
    // Without chunks, the end of the connection is the end of the response.
    res.useChunkedEncodingByDefault = false;
    sendChunks(req, res);
  });
  app.get("/target", (req, res) => void res.send(req.originalUrl));
  app.get("/raw-headers", (req, res) => void res.json(req.rawHeaders));
  app.post("/post", async (req, res) => void res.json({ data: await text(req) }));
}

function sendRange(req: Request, res: Response): void {
  const [range] = (req.range(alphabet.length) ?? []) as readonly { start: number; end: number }[];
  res.set("Accept-Ranges", "bytes").type("text/plain");
  if (range === undefined) return void res.send(alphabet);
  const { start, end } = range;
  res.status(206).set("Content-Range", `bytes ${start}-${end}/${alphabet.length}`);
  res.end(alphabet.subarray(start, end + 1));
}

function sendChunks(_req: Request, res: Response): void {
  for (let at = 0; at < random.length; at += 1000) res.write(random.subarray(at, at + 1000));
  res.end();
}

const service = await createService({
  config: { toml: '[service]\nname = "interop"\nport = 0\nhost = "127.0.0.1"' },
  env: {},
  routes,
  logDestination: { write: () => undefined },
});
await service.start();
process.send?.(service.address?.port);
process.once("disconnect", () => process.exit());
