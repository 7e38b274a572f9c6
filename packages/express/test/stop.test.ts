import { once } from "node:events";
import { connect } from "node:net";
import { Agent, get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { StopPhase } from "@svc/express";
import { runChild } from "./support/child.ts";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

const phases: readonly StopPhase[] = ["intake", "work", "flush", "close"];

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly body: string;
}

/** Sends one request, and resolves with the response. With an agent, the connection stays open. */
async function ask(url: string, agent?: Agent): Promise<Answer> {
  const [answer] = (await once(get(url, { agent }), "response")) as [IncomingMessage];
  answer.setEncoding("utf8");
  let body = "";
  for await (const chunk of answer) body += String(chunk);
  return { status: answer.statusCode, connection: answer.headers.connection, body };
}

describe("a stopping service", () => {
  onBothMajors((express) => {
    it("RDY-20 RDY-21 returns 503 on /ready and still serves requests, with Connection: close, during the drain delay", async () => {
      const test = await startService({
        app: express(),
        // This delay is longer than the three requests below take on a busy machine.
        toml: "drain_delay = 3\n",
        routes: (app) => void app.get("/work", (_req, res) => void res.send("done")),
      });
      using agent = keepAlive();
      expect(await ask(`${test.url}/work`, agent)).to.deep.equal({
        status: 200,
        connection: "keep-alive",
        body: "done",
      });
      const stopped = test.service.stop();
      await test.line((line) => line["phase"] === "drain");
      const ready = await ask(`${test.url}/ready`);
      expect(ready.status).to.equal(503);
      expect(JSON.parse(ready.body)).to.deep.equal({
        status: "unavailable",
        service: "test",
        checks: { shutdown: { healthy: false, status: "fail", detail: "shutting down", critical: true } },
      });
      expect((await ask(`${test.url}/health`)).status).to.equal(200);
      expect(await ask(`${test.url}/work`, agent)).to.deep.equal({
        status: 200,
        connection: "close",
        body: "done",
      });
      expect(await stopped).to.equal(0);
      expect(test.service.server.listening).to.equal(false);
    });

    it("finishes requests in progress, then runs the hooks", async () => {
      const order: string[] = [];
      const arrived = Promise.withResolvers<void>();
      const test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/slow", (_req, res) => {
            arrived.resolve();
            setTimeout(() => {
              order.push("answered");
              res.send("slow");
            }, 300);
          });
        },
      });
      test.service.onStop("intake", () => void order.push("intake"));
      const answer = ask(`${test.url}/slow`);
      await arrived.promise;
      expect(await test.service.stop()).to.equal(0);
      expect(await answer).to.deep.equal({ status: 200, connection: "close", body: "slow" });
      expect(order).to.deep.equal(["answered", "intake"]);
    });

    it("closes idle connections instead of waiting for them", async () => {
      const test = await startService({ app: express() });
      using agent = keepAlive();
      await ask(`${test.url}/health`, agent);
      expect(Object.values(agent.freeSockets).flat()).to.have.length(1);
      expect(await test.service.stop()).to.equal(0);
    });
  });

  it("runs the phases in order and the hooks in a phase in parallel, even if every hook throws", async () => {
    const test = await startService();
    const order: string[] = [];
    for (const phase of phases.toReversed()) {
      for (const number of [1, 2]) {
        test.service.onStop(phase, async () => {
          order.push(`${phase} ${number} begins`);
          await delay(10);
          order.push(`${phase} ${number} ends`);
          throw new Error(`${phase} ${number} failed`);
        });
      }
    }
    test.service.onStop("close", () => {
      throw new Error("at once");
    });
    expect(await test.service.stop()).to.equal(0);
    expect(order).to.deep.equal(
      phases.flatMap((phase) =>
        [1, 2].map((n) => `${phase} ${n} begins`).concat([1, 2].map((n) => `${phase} ${n} ends`)),
      ),
    );
    const stopping = test.lines.filter((line) => line["message"] === "stopping").map((line) => line["phase"]);
    expect(stopping).to.deep.equal(["drain", "server", ...phases, "done"]);
    const failed = test.lines.filter((line) => line["message"] === "a stop hook failed");
    expect(failed.map((line) => line["phase"])).to.deep.equal(
      phases.flatMap((phase) => (phase === "close" ? [phase, phase, phase] : [phase, phase])),
    );
  });

  it("runs its stop hooks once when stop() is called several times", async () => {
    const test = await startService();
    let hooks = 0;
    test.service.onStop("work", () => void hooks++);
    expect(await Promise.all([test.service.stop(), test.service.stop()])).to.deep.equal([0, 0]);
    expect(await test.service.stop()).to.equal(0);
    expect(hooks).to.equal(1);
  });

  it("cuts connections at the time limit, logs their number, and resolves with exit code 1", async () => {
    const test = await startService({
      toml: "shutdown_timeout = 4\n",
      routes: (app) => void app.get("/hang", () => undefined),
    });
    const cut = ask(`${test.url}/hang`).then(
      () => "answered",
      (error: NodeJS.ErrnoException) => error.code,
    );
    await once(test.service.server, "request");
    const ran: string[] = [];
    for (const phase of ["intake", "work", "flush", "close"] as const)
      test.service.onStop(phase, () => void ran.push(phase));
    expect(await test.service.stop()).to.equal(1);
    // A quarter of the time is reserved for the hooks.
    expect(ran).to.deep.equal(["intake", "work", "flush", "close"]);
    expect(await cut).to.equal("ECONNRESET");
    const line = await test.line((each) => each["message"] === "stopping took too long; connections are cut");
    expect(line).to.include({ level: "error", in_flight: 1, timeout_ms: 3000 });
  });

  it("cuts upgraded connections at the time limit, and runs the hooks", async () => {
    const test = await startService({ toml: "shutdown_timeout = 4\n" });
    test.service.server.on("upgrade", (_req, socket) => {
      socket.on("error", () => undefined);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    });
    const socket = connect(test.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    await once(socket, "data");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    let ran = false;
    test.service.onStop("close", () => void (ran = true));
    expect(await test.service.stop()).to.equal(1);
    await closed;
    expect(ran).to.equal(true);
  });

  it("stops waiting for a hook that hangs", async () => {
    const test = await startService({ toml: "shutdown_timeout = 0.3\n" });
    test.service.onStop("intake", () => new Promise(() => undefined));
    expect(await test.service.stop()).to.equal(1);
  });

  it("skips the drain delay when it has never listened, and cannot be started afterwards", async () => {
    const { service } = await makeService({ env: { SVC_ENV: "prod" } });
    let closed = false;
    service.onStop("close", () => void (closed = true));
    expect(await service.stop()).to.equal(0);
    expect(closed).to.equal(true);
    let message = "";
    await service.start().catch((error: Error) => (message = error.message));
    expect(message).to.equal("the service has been stopped; make a new one");
  });

  it("rejects hooks for unknown phases, and hooks that are not functions", async () => {
    const { service } = await makeService();
    const onStop = service.onStop as (phase: string, hook: unknown) => void;
    expect(() => onStop("later", () => undefined)).to.throw(/phase: must be one of .*intake/);
    expect(() => onStop("close", undefined)).to.throw(/hook/);
    await service.stop();
  });
});

const program = (toml: string, rest = ""): string => `
  import { createService } from "@svc/express";
  const service = await createService({
    config: { toml: ${JSON.stringify(`[service]\nname = "child"\nport = 0\n${toml}`)} },
    env: {},
    routes(app) {
      app.get("/hang", () => service.log.info({}, "asked"));
      app.get("/slow", (req, res) => {
        service.log.info({}, "asked");
        setTimeout(() => res.send("slow"), 500);
      });
      app.get("/throw", () => { setTimeout(() => { throw new Error("uncaught here"); }, 0); });
      app.get("/reject", (req, res) => { res.send("late"); void Promise.reject(new Error("rejected here")); });
      app.get("/odd", (req, res) => { res.send("late"); void Promise.reject(undefined); });
    },
  });
  for (const phase of ["close", "flush", "work", "intake"]) {
    service.onStop(phase, () => service.log.info({ hook: phase }, "hook"));
  }
  ${rest}
  await service.start();
`;

describe("the process of a service", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`exits with 0 on ${signal}, after it has drained, closed the server and run the hooks in order`, async function () {
      if (process.platform === "win32") this.skip();
      await using child = await runChild(program("drain_delay = 0.2\n"));
      await child.listening();
      const slow = ask(`${child.url()}/slow`);
      await child.line((line) => line["message"] === "asked");
      child.kill(signal);
      expect((await slow).body).to.equal("slow");
      expect(await child.ended).to.deep.equal({ code: 0, signal: null });
      const order = child.lines().map((line) => line["phase"] ?? line["hook"]);
      expect(order.filter((each) => each !== undefined)).to.deep.equal([
        "drain",
        "server",
        ...phases.flatMap((phase) => [phase, phase]),
        "done",
      ]);
    });
  }

  it("exits with 0 on the IPC message `shutdown`, for process managers that cannot send signals", async () => {
    await using child = await runChild(program(""));
    await child.listening();
    child.send("something else");
    child.send("shutdown");
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
    expect(await child.line((line) => line["phase"] === "done")).to.include({ message: "stopping" });
  });

  it("exits with 1 immediately on a second stop signal", async function () {
    if (process.platform === "win32") this.skip();
    await using child = await runChild(program("drain_delay = 20\n"));
    await child.listening();
    child.kill("SIGTERM");
    await child.line((line) => line["phase"] === "drain");
    child.kill("SIGINT");
    expect(await child.ended).to.deep.equal({ code: 1, signal: null });
    await child.line(
      (line) => line["message"] === "second signal: exiting immediately" && line["signal"] === "SIGINT",
    );
  });

  it("lets all its services finish before it exits", async function () {
    if (process.platform === "win32") this.skip();
    await using child = await runChild(`
      import { createService } from "@svc/express";
      for (const name of ["quick", "slow"]) {
        const service = await createService({
          config: { toml: '[service]\\nname = "' + name + '"\\nport = 0\\n' },
          env: {},
          routes(app, { log }) {
            app.get("/", (req, res) => {
              log.info({}, "asked");
              setTimeout(() => res.send("finished"), 600);
            });
          },
        });
        await service.start();
      }
    `);
    await child.line((line) => line["service"] === "slow" && line["message"] === "listening");
    const port = child.lines().find((line) => line["service"] === "slow" && "port" in line)?.["port"];
    const answer = ask(`http://127.0.0.1:${String(port)}/`);
    await child.line((line) => line["message"] === "asked");
    child.kill("SIGTERM");
    await child.line((line) => line["service"] === "quick" && line["phase"] === "done");
    expect((await answer).body).to.equal("finished");
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
  });

  it("exits with 1 at the time limit, and logs the number of requests in progress", async function () {
    if (process.platform === "win32") this.skip();
    await using child = await runChild(program("shutdown_timeout = 0.5\n"));
    await child.listening();
    const cut = ask(`${child.url()}/hang`).catch((error: NodeJS.ErrnoException) => error.code);
    await child.line((line) => line["message"] === "asked");
    child.kill("SIGTERM");
    expect(await child.ended).to.deep.equal({ code: 1, signal: null });
    expect(await cut).to.equal("ECONNRESET");
    await child.line((line) => line["in_flight"] === 1 && line["level"] === "error");
  });

  it("exits with 0 when the signal arrives just before it listens", async function () {
    if (process.platform === "win32") this.skip();
    await using child = await runChild(
      program(
        "",
        "setTimeout(() => undefined, 60_000); process.nextTick(() => process.kill(process.pid, 'SIGTERM'));",
      ),
    );
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
    await child.line((line) => line["phase"] === "done");
  });

  for (const [path, message, outcome] of [
    ["throw", "uncaught here", "ECONNRESET"],
    ["reject", "rejected here", "late"],
    ["odd", undefined, "late"],
  ] as const) {
    it(`logs one fatal record and exits with 1 for an uncaught error (/${path})`, async () => {
      await using child = await runChild(program("drain_delay = 20\nshutdown_timeout = 60\n"));
      await child.listening();
      await ask(`${child.url()}/health`);
      const asked = ask(`${child.url()}/${path}`).then(
        ({ body }) => body,
        (error: NodeJS.ErrnoException) => error.code,
      );
      expect(await child.ended).to.deep.equal({ code: 1, signal: null });
      expect(await asked).to.equal(outcome);
      const fatal = child.lines().filter((line) => line["level"] === "fatal");
      expect(fatal).to.have.length(1);
      expect(fatal[0]).to.include({ message: "uncaught error: stopping" });
      if (message !== undefined) expect(JSON.stringify(fatal[0])).to.contain(message);
    });
  }

  it("has no listeners of a service that was created with signals: false, or that has stopped", async () => {
    const listeners = (): number[] =>
      ["SIGTERM", "SIGINT", "uncaughtException", "unhandledRejection", "message"].map((name) =>
        process.listenerCount(name),
      );
    const before = listeners();
    const off = await startService();
    expect(listeners()).to.deep.equal(before);
    await off.service.stop();
    const on = await startService({ signals: true });
    expect(listeners()).to.deep.equal(before.map((count) => count + 1));
    await on.service.stop();
    expect(listeners()).to.deep.equal(before);
  });
});

function keepAlive(): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}
