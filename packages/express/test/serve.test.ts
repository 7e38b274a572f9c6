import { createServer } from "node:http";
import { ConfigurationError } from "@svc/options";
import { health } from "@svc/health";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { serve, type ServeOptions } from "@svc/express";
import { runChild } from "./support/child.ts";
import { onBothMajors } from "./support/majors.ts";

const quiet = { host: "127.0.0.1", port: 0, signals: false, drainDelaySeconds: 0 } as const;

async function refusal(options: object): Promise<string> {
  try {
    await serve(() => undefined, { ...quiet, ...options } as ServeOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  throw new Error("it was served");
}

describe("serve()", () => {
  onBothMajors((express) => {
    it("stops an existing application in order: drains it, runs the hooks, and closes the server", async () => {
      const probes = health({ service: "old", version: "1", env: "local" });
      const app = express();
      app.use(probes);
      app.get("/", (_req, res) => void res.send("old"));
      const serving = await serve(app, { ...quiet, health: probes });
      const url = `http://127.0.0.1:${serving.address.port}`;
      expect(await (await fetch(url)).text()).to.equal("old");
      expect((await fetch(`${url}/ready`)).status).to.equal(200);
      const hooks: string[] = [];
      serving.onStop("close", () => void hooks.push(`close while ${probes.state()}`));
      expect(await serving.stop()).to.equal(0);
      expect(hooks).to.deep.equal(["close while draining"]);
      expect(serving.server.listening).to.equal(false);
    });
  });

  it("serves a request listener without Express, and returns problems for requests that never reach it", async () => {
    await using serving = await serve((_req, res) => void res.end("bare"), quiet);
    expect(await (await fetch(`http://127.0.0.1:${serving.address.port}`)).text()).to.equal("bare");
    const answer = await rawRequest(serving.address.port, "NONSENSE\r\n\r\n");
    expect(answer.status).to.equal(400);
    expect(answer.headers["content-type"]).to.equal("application/problem+json");
  });

  it("rejects when the port is in use, and leaves no signal handlers", async () => {
    await using first = await serve(() => undefined, quiet);
    const before = process.listenerCount("SIGTERM");
    let code: string | undefined;
    await serve(() => undefined, { ...quiet, port: first.address.port, signals: true }).catch(
      (error: NodeJS.ErrnoException) => (code = error.code),
    );
    expect(code).to.equal("EADDRINUSE");
    expect(process.listenerCount("SIGTERM")).to.equal(before);
  });

  it("runs all phases even if every hook hangs", async () => {
    const order: string[] = [];
    const serving = await serve(() => undefined, { ...quiet, hookTimeoutSeconds: 0.05 });
    for (const phase of ["close", "flush", "work", "intake"] as const) {
      serving.onStop(phase, (signal) => {
        order.push(phase);
        signal.addEventListener("abort", () => order.push(`${phase} was given up`));
        return new Promise(() => undefined);
      });
    }
    expect(await serving.stop()).to.equal(0);
    expect(order).to.deep.equal(
      ["intake", "work", "flush", "close"].flatMap((phase) => [phase, `${phase} was given up`]),
    );
  });

  it("stops in order even if its logger and a hook throw", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    const serving = await serve(() => undefined, { ...quiet, logger });
    let closed = false;
    serving.onStop("intake", fail);
    serving.onStop("close", () => void (closed = true));
    expect([await serving.stop(), closed]).to.deep.equal([0, true]);
  });

  it("rejects invalid options and names them", async () => {
    expect(await refusal({ drainDelaySecond: 1, port: 70_000 }))
      .to.contain("drainDelaySecond: is unknown; did you mean drainDelaySeconds?")
      .and.to.contain("port: must be");
    expect(await refusal({ drainDelaySeconds: 30 })).to.contain(
      "drainDelaySeconds: must be shorter than shutdownTimeoutSeconds (25)",
    );
    expect(await refusal({ receiveTimeoutSeconds: 5 })).to.contain(
      "headersTimeoutSeconds: must not be longer than receiveTimeoutSeconds (5)",
    );
    expect(await refusal({ health: {} })).to.contain("health: must be the object returned by health()");
    expect(await refusal({ logger: {} })).to.contain("logger: must be a logger");
  });

  it("writes an uncaught error to standard error when no logger is set", async () => {
    await using child = await runChild(
      `import { serve } from "@svc/express";
       await serve(() => undefined, { port: 0, host: "127.0.0.1" });
       setTimeout(() => { throw new TypeError("nobody catches this"); }, 10);`,
    );
    expect(await child.ended).to.deep.equal({ code: 1, signal: null });
    expect(child.stderr()).to.contain("TypeError: nobody catches this").and.to.contain("service.mjs:3");
  });

  it("does not affect other servers in the process", async () => {
    await using serving = await serve((_req, res) => void res.end("a"), quiet);
    const other = createServer((_req, res) => void res.end("b"));
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
    await serving.stop();
    const address = other.address() as { port: number };
    expect(await (await fetch(`http://127.0.0.1:${address.port}`)).text()).to.equal("b");
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  });
});
