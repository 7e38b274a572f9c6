import { mock } from "node:test";
import type { ReadinessCheck } from "@svc/context";
import { freePort } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { propagationHeaders } from "@svc/request-id";
import express5 from "express";
import request from "supertest";
import { createService, type ServiceOptions } from "@svc/express";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

/** Returns the error message of a service that does not start with these options. */
async function refusal(options: ServiceOptions): Promise<string> {
  try {
    await createService({ env: {}, signals: false, ...options });
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  throw new Error("the service was put together");
}

function check(name: string, critical: boolean, healthy = false): ReadinessCheck {
  return { name, critical, check: () => ({ healthy, detail: healthy ? "fine" : "broken" }) };
}

describe("a service", () => {
  onBothMajors((express) => {
    it("RDY-4 RDY-5 SYS-4 reports its checks: after a critical failure /ready returns 503, and /health still returns 200", async () => {
      await using degraded = await startService({
        app: express(),
        checks: [check("mail", false), check("disk", true, true)],
      });
      const partly = await request(degraded.url).get("/ready");
      expect(partly.status).to.equal(200);
      expect(partly.headers).to.include({ "content-type": "application/json", "cache-control": "no-store" });
      expect(partly.body).to.deep.equal({
        status: "degraded",
        service: "test",
        checks: {
          mail: { healthy: false, status: "fail", detail: "broken", critical: false },
          disk: { healthy: true, status: "ok", detail: "fine", critical: true },
        },
      });
      await using down = await startService({ app: express(), checks: [check("disk", true)] });
      expect((await request(down.url).get("/ready")).status).to.equal(503);
      expect((await request(down.url).get("/health")).status).to.equal(200);
    });

    it("SYS-5 VER-1 lists its plugins in /info, and its version in /health", async () => {
      await using test = await startService({ app: express(), toml: 'version = "2.4.0"\n' });
      expect((await request(test.url).get("/info")).body).to.deep.equal({
        service: "test",
        version: "2.4.0",
        env: "local",
        providers: [],
        plugins: [{ name: "observability" }, { name: "metrics", path: "/metrics" }, { name: "openapi" }],
      });
      expect((await request(test.url).get("/health")).body).to.include({ version: "2.4.0" });
    });

    it("CFG-6 enables only the plugins that [plugins] lists", async () => {
      await using bare = await startService({ app: express(), toml: "[plugins]\nenabled = []\n" });
      expect((await request(bare.url).get("/metrics")).status).to.equal(404);
      expect((await request(bare.url).get("/info")).body).to.deep.include({ plugins: [] });
      expect(bare.lines.filter((line) => line["message"] === "request")).to.deep.equal([]);
      expect(bare.service.metrics).to.equal(undefined);
      await using counting = await startService({
        app: express(),
        toml: '[plugins]\nenabled = ["metrics"]\n',
      });
      expect((await request(counting.url).get("/metrics")).status).to.equal(200);
    });

    it("writes no access line for quiet paths, and none at all with access_log = false", async () => {
      const quiet = '[plugin.observability]\nquiet_paths = ["/health"]\n';
      await using test = await startService({ app: express(), toml: quiet });
      await request(test.url).get("/health");
      await request(test.url).get("/nowhere");
      await test.line((line) => line["http_path"] === "/nowhere");
      expect(test.lines.filter((line) => line["http_path"] === "/health")).to.deep.equal([]);
      await using off = await startService({
        app: express(),
        toml: "[plugin.observability]\naccess_log = false\n",
      });
      await request(off.url).get("/nowhere");
      await off.service.stop();
      expect(off.lines.filter((line) => line["message"] === "request")).to.deep.equal([]);
    });
  });

  it("PORT-2 ENV-3 listens on the base port from the environment", async () => {
    const port = await freePort();
    await using test = await startService({ env: { SVC_PORT: String(port) } });
    expect(test.service.address).to.include({ port, address: "127.0.0.1" });
  });

  it("CFG-15 ENV-4 warns at startup when debug is on in prod", async () => {
    const { service, lines } = await makeService({ env: { SVC_ENV: "prod", SVC_DEBUG: "true" } });
    const warnings = lines.filter((line) => line["level"] === "warn").map((line) => line["message"]);
    expect(warnings).to.deep.equal([
      "DEBUG IS ON IN PROD: internal error details reach clients; unset SVC_DEBUG",
    ]);
    await service.stop();
  });

  it("logs notes about its configuration at startup, without values", async () => {
    const { service, lines } = await makeService({ env: { SVC_PROT: "hunter2" } });
    const warnings = lines.filter((line) => line["level"] === "warn").map((line) => String(line["message"]));
    expect(warnings.join("\n"))
      .to.contain("SVC_PROT")
      .and.to.contain("SVC_PORT")
      .and.not.to.contain("hunter2");
    await service.stop();
  });

  it("logs its configuration at startup with secrets masked", async () => {
    const toml = `[plugins]\nenabled = ["database"]\n[plugin.database]\nurl = "postgres://user:hunter2@127.0.0.1:1/x"\n`;
    await using test = await startService({ toml });
    const line = await test.line((each) => each["message"] === "starting");
    expect(line["config"]).to.have.nested.property("plugin.database.max", 10);
    expect(JSON.stringify(test.lines)).not.to.contain("hunter2");
  });

  it("CFG-12 rejects an invalid file with all faults together", async () => {
    const message = await refusal({
      config: { toml: '[service]\nname = "x"\nprt = 1\netag = "yes"\n[plugin.metrics]\npath = "metrics"\n' },
    });
    expect(message).to.contain("service.prt: is unknown; did you mean port?");
    expect(message).to.contain("service.etag: must be true or false");
    expect(message).to.contain("plugin.metrics.path: must be a path");
  });

  it("CFG-12 lists an invalid path and invalid buckets for metrics among the file's faults", async () => {
    for (const path of ["/health", "/ready", "/info", "/../x", "//x", "/x/"]) {
      const message = await refusal({
        config: { toml: `[service]\nprt = 1\n[plugin.metrics]\npath = "${path}"\nbuckets = [3, 1]\n` },
      });
      expect(message).to.contain("service.prt: is unknown");
      expect(message).to.contain(
        'plugin.metrics.path: must be a path such as "/metrics", other than /health',
      );
      expect(message).to.contain("plugin.metrics.buckets: must be a list of 1 to 50 numbers above 0");
    }
  });

  it("CFG-7 CFG-8 rejects plugins that are unknown or not implemented yet, and names the available ones", async () => {
    const remedies = new Map([
      ["scheduler", "the plugin queue runs schedules: remove scheduler from [plugins] enabled"],
    ]);
    for (const name of ["llm", "storage"]) {
      remedies.set(name, `${name} is not implemented yet`);
    }
    for (const [name, remedy] of remedies) {
      const message = await refusal({
        config: { toml: `[service]\nname = "x"\n[plugins]\nenabled = ["${name}"]\n` },
      });
      expect(message)
        .to.contain(`plugins.enabled: ${remedy}; available plugins: `)
        .and.to.match(
          /observability, telemetry, metrics, database, queue, events, cache, http, auth, tenancy/,
        );
    }
    const unknown = await refusal({
      config: { toml: '[service]\nname = "x"\n[plugins]\nenabled = ["metric"]\n' },
    });
    expect(unknown).to.contain("metric").and.to.contain("metrics");
  });

  it("PROF-1 configures the reduced profile only from the environment", async () => {
    await using test = await startService({
      config: undefined,
      profile: "reduced",
      env: { SVC_APP_NAME: "small", SVC_PORT: "0", SVC_LOG_JSON_LOGS: "true" },
    });
    expect((await request(test.url).get("/health")).body).to.include({ service: "small" });
    expect((await request(test.url).get("/metrics")).status).to.equal(200);
    const message = await refusal({
      profile: "reduced",
      config: "service.toml",
      env: { SVC_APP_NAME: "small" },
    });
    expect(message).to.contain("config: is used only in the full profile");
  });

  it("PROF-4 propagates the caller's trace unchanged in the reduced profile", async () => {
    await using test = await startService({
      config: undefined,
      profile: "reduced",
      env: { SVC_APP_NAME: "small", SVC_PORT: "0" },
      routes: (app) => void app.get("/out", (_req, res) => void res.json(propagationHeaders())),
    });
    const trace = {
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      tracestate: "vendor=1",
    };
    const { body } = await request(test.url)
      .get("/out")
      .set({ ...trace, "X-Request-ID": "r-1" });
    const sent = Object.fromEntries(
      Object.entries(body as object).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect(sent).to.deep.equal({ ...trace, "x-request-id": "r-1" });
  });

  it("rejects unknown options and options of the wrong kind", async () => {
    const options = {
      routs: () => undefined,
      middleware: [1],
      checks: [{}],
      app: {},
    } as unknown as ServiceOptions;
    const message = await refusal(options);
    expect(message).to.contain("routs: is unknown; did you mean routes?");
    for (const key of ["middleware", "checks", "app"]) expect(message).to.contain(`${key}: must be`);
  });

  onBothMajors((express) => {
    it("rejects an application with routes, which would run before the service's own middleware", async () => {
      const app = express();
      app.get("/early", (_req, res) => void res.send("unprotected"));
      const message = await refusal({ app, config: { toml: '[service]\nname = "x"\n' } });
      expect(message).to.contain("app: already has 1 routes or middleware");
    });
  });

  it("waits for asynchronous routes, and runs its stop hooks when they fail", async () => {
    await using test = await startService({
      routes: async (app) => {
        await Promise.resolve();
        app.get("/", (_req, res) => void res.send("late but there"));
      },
    });
    expect((await request(test.url).get("/")).text).to.equal("late but there");
    let closed = false;
    const failing = makeService({
      routes: async (_app, service) => {
        service.onStop("close", () => void (closed = true));
        await Promise.resolve();
        throw new Error("no schema");
      },
    });
    let message = "";
    await failing.catch((error: Error) => (message = error.message));
    expect({ message, closed }).to.deep.equal({ message: "no schema", closed: true });
  });

  it("creates an Express application when the option `app` is omitted", async () => {
    const service = await createService({
      config: { toml: '[service]\nname = "own"\n[logging]\nlevel = "SILENT"\n' },
      env: {},
      routes: (app) => void app.get("/", (_req, res) => void res.send("own")),
    });
    expect(service.app).to.be.a("function").and.to.have.property("use");
    expect(service.app).not.to.equal(express5);
    expect((await request(service.app).get("/")).text).to.equal("own");
    await service.stop();
  });

  it("keeps running when the system cannot accept a connection, and logs that at most every ten seconds", async () => {
    await using test = await startService();
    for (let i = 0; i < 3; i++) test.service.server.emit("error", new Error("accept ENOBUFS"));
    expect((await request(test.url).get("/health")).status).to.equal(200);
    const logged = test.lines.filter((line) => line["message"] === "the server cannot accept a connection");
    expect(logged).to.have.length(1);
  });

  it("runs the stop hooks in order when the routes cannot be registered", async () => {
    const ran: string[] = [];
    const made = makeService({
      routes(_app, { onStop }) {
        for (const phase of ["close", "flush", "work", "intake"] as const)
          onStop(phase, () => void ran.push(phase));
        throw new Error("no schema");
      },
    });
    expect(await made.then(undefined, (error: unknown) => String(error))).to.equal("Error: no schema");
    expect(ran).to.deep.equal(["intake", "work", "flush", "close"]);
  });

  it("leaves no timer when routes() throws", async () => {
    const set = mock.method(globalThis, "setInterval");
    const clear = mock.method(globalThis, "clearInterval");
    try {
      const routes = (): never => {
        throw new Error("no schema");
      };
      expect((await rejection(makeService({ routes }))).message).to.equal("no schema");
      const made = set.mock.calls.map(({ result }) => result);
      const cleared = new Set<unknown>(clear.mock.calls.map(({ arguments: [timer] }) => timer));
      expect(made).to.have.length.above(0);
      expect(made.filter((timer) => !cleared.has(timer))).to.have.length(0);
    } finally {
      set.mock.restore();
      clear.mock.restore();
    }
  });

  it("rejects start() when the port is in use, and leaves no signal handlers", async () => {
    await using taken = await startService();
    const before = process.listenerCount("SIGTERM");
    const { service } = await makeService({ env: { SVC_PORT: String(taken.port) }, signals: true });
    let code: string | undefined;
    await service.start().catch((error: NodeJS.ErrnoException) => (code = error.code));
    expect(code).to.equal("EADDRINUSE");
    expect(process.listenerCount("SIGTERM")).to.equal(before);
    await service.stop();
  });
});
