import { currentContext, enterContext, openContext } from "@svc/context";
import { gateway } from "@svc/gateway";
import { problemHandler } from "@svc/problem";
import { requestId } from "@svc/request-id";
import { collectingLogger, expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { closedOrigin, startUpstream } from "./support/servers.ts";

const compression = createRequire(import.meta.url)("compression") as () => never;

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`a gateway in ${name}`, () => {
    it("forwards requests of its routes when mounted before body parsers, and leaves others to the app", async () => {
      await using upstream = await startUpstream();
      await using made = gateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const app = express();
      app.use(requestId() as never);
      app.use(made as never);
      app.use(express.json());
      app.post("/own", (req, res) => void res.json(req.body));
      await using server = await listen(app as never);
      const post = (path: string): Promise<Response> =>
        fetch(server.url + path, {
          method: "POST",
          body: '{"a":1}',
          headers: { "Content-Type": "application/json" },
        });
      expect(await (await post("/own")).text()).to.equal('{"a":1}');
      const proxied = await post("/api");
      expect(await proxied.text()).to.equal("7");
      expect(upstream.only().headers["x-request-id"]).to.equal(proxied.headers.get("x-request-id"));
    });

    it("refuses a request whose body a parser has read, and names the remedy in the log", async () => {
      await using upstream = await startUpstream();
      await using made = gateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const logger = collectingLogger();
      const app = express();
      app.use(express.text());
      app.use(made as never);
      app.use(problemHandler({ logger }) as never);
      await using server = await listen(app as never);
      const response = await fetch(`${server.url}/api`, { method: "POST", body: "text" });
      expect(response.status).to.equal(500);
      const error = logger.lines[0]?.fields["err"] as Error | undefined;
      expect((error?.cause as Error | undefined)?.message).to.equal(
        "the gateway must be mounted before body parsers",
      );
      expect(upstream.received).to.deep.equal([]);
    });

    it("matches and forwards the path without the prefix at which it is mounted", async () => {
      await using upstream = await startUpstream();
      await using made = gateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const app = express();
      app.use("/v1", made as never);
      await using server = await listen(app as never);
      await fetch(`${server.url}/v1/api/x`);
      expect(upstream.only().url).to.equal("/api/x");
    });

    it("passes a whole response on through compression(), although it is larger than the buffers", async () => {
      const body = randomBytes(1024 * 1024).toString("hex");
      await using upstream = await startUpstream((_req, res) => {
        res.setHeader("Content-Type", "text/plain");
        res.end(body);
      });
      await using made = gateway({ routes: [{ prefix: "/api", targets: [upstream.url] }] });
      const app = express();
      app.use(compression());
      app.use(made as never);
      await using server = await listen(app as never);
      for (const encoding of ["gzip", "identity"]) {
        const response = await fetch(`${server.url}/api`, { headers: { "Accept-Encoding": encoding } });
        expect(response.headers.get("content-encoding")).to.equal(encoding === "gzip" ? "gzip" : null);
        expect((await response.text()) === body, encoding).to.equal(true);
      }
    });

    it("calls the error handler in the context of the request", async () => {
      await using made = gateway({ routes: [{ prefix: "/api", targets: [await closedOrigin()] }] });
      const seen: (string | undefined)[] = [];
      const app = express();
      app.use((req, _res, next) => {
        openContext(req).requestId = req.url.slice(-1);
        next();
      });
      app.use(enterContext as never);
      app.use(made as never);
      app.use(((_error: unknown, _req: unknown, res: { end(): void }, _next: unknown) => {
        seen.push(currentContext()?.requestId);
        res.end();
      }) as never);
      await using server = await listen(app as never);
      await Promise.all(["a", "b", "c"].map((id) => fetch(`${server.url}/api?id=${id}`)));
      expect(seen.toSorted((a = "", b = "") => a.localeCompare(b))).to.deep.equal(["a", "b", "c"]);
    });
  });
}
