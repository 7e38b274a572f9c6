import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { Express, Response } from "express";
import request from "supertest";
import { serve } from "@svc/express";
import { until } from "@svc/test-support";
import { runChild } from "./support/child.ts";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const toml = "request_timeout = 0.1\n";

describe("the request timeout", () => {
  onBothMajors((express) => {
    it("LIM-4 responds with a 504 problem when a handler does not", async () => {
      await using test = await startService({
        app: express(),
        toml,
        routes: (app) => void app.get("/hang/:id", () => undefined),
      });
      const answer = await request(test.url).get("/hang/1?a=b").set("X-Request-ID", "slow-1");
      expect(answer.status).to.equal(504);
      expect(answer.headers).to.include({
        "content-type": "application/problem+json",
        "x-request-id": "slow-1",
        "x-content-type-options": "nosniff",
      });
      expect(answer.body).to.deep.equal({
        type: "about:blank",
        title: "Gateway Timeout",
        status: 504,
        detail: "Gateway Timeout",
        instance: "/hang/1",
        request_id: "slow-1",
      });
      const line = await test.line((each) => each["message"] === "request");
      expect(line).to.include({ http_status: 504, request_id: "slow-1" });
      // The request for `/metrics` has the same short time limit, so it may need several attempts.
      const { text } = await until("the metrics", async () => {
        const answer = await request(test.url).get("/metrics");
        return answer.status === 200 && answer;
      });
      expect(text).to.match(/http_requests_total\{[^}]*endpoint="\/hang\/:id"[^}]*status="504"[^}]*\} 1/);
      expect(text).to.match(/http_requests_in_progress\{[^}]*method="GET"[^}]*\} 1\n/);
    });

    it("LIM-5 does not interrupt a response that has begun, even a long one", async () => {
      await using test = await startService({
        app: express(),
        toml,
        routes: (app) => {
          app.get("/stream", async (_req, res) => {
            for (const part of ["a", "b", "c", "d"]) {
              res.write(part);
              await delay(100);
            }
            res.end("e");
          });
          app.get("/head", async (_req, res) => {
            res.flushHeaders();
            await delay(400);
            res.end("late");
          });
        },
      });
      expect((await request(test.url).get("/stream").buffer(true)).text).to.equal("abcde");
      expect((await request(test.url).get("/head").buffer(true)).text).to.equal("late");
    });

    /** Ways in which a handler uses its response after the client has got a 504. */
    const late: Readonly<Record<string, (res: Response, app: Express) => unknown>> = {
      "res.json": (res) => res.json({ late: true }),
      "res.send": (res) => res.status(201).send("late"),
      "res.redirect": (res) => {
        res.redirect("/elsewhere");
      },
      "res.cookie and headers": (res) =>
        res.cookie("a", "b").set("X-A", "b").append("X-A", "c").type("txt").end("late"),
      "res.writeHead": (res) => res.writeHead(200, { "X-A": "b" }).end("late"),
      "early hints and flushHeaders": (res) => {
        res.writeEarlyHints({ link: "</style.css>; rel=preload" });
        res.flushHeaders();
      },
      "write and end with callbacks": async (res) => {
        await new Promise<void>((resolve) => void res.write("late", () => resolve()));
        await new Promise<void>((resolve) => void res.end("late", "utf8", () => resolve()));
      },
      "a source that is piped": async (res) => {
        const source = Readable.from(endless());
        source.pipe(res);
        await once(source, "close");
      },
    };
    for (const [title, act] of Object.entries(late)) {
      it(`LIM-5 ignores ${title} after the 504`, async () => {
        const outcome = Promise.withResolvers<string>();
        await using test = await startService({
          app: express(),
          toml,
          routes: (app) => {
            app.get("/", (_req, res) => {
              res.on("close", () => {
                Promise.resolve(res)
                  .then((own) => act(own, app))
                  .then(
                    () => outcome.resolve("nothing"),
                    (error: unknown) => outcome.resolve(String(error)),
                  );
              });
            });
            app.get("/next", (_req, res) => void res.send("fine"));
          },
        });
        using agent = keepAlive();
        const first = await request(test.url).get("/").agent(agent);
        expect(first.status).to.equal(504);
        expect(await outcome.promise).to.equal("nothing");
        const next = await request(test.url).get("/next").agent(agent);
        expect(next.text).to.equal("fine");
        expect(next.headers).not.to.have.property("x-a");
      });
    }
  });

  it("LIM-5 keeps the process running when handlers respond late, from timers or promises", async () => {
    await using child = await runChild(
      `import { createService } from "@svc/express";
       const late = [];
       const service = await createService({
         config: { toml: '[service]\\nname = "late"\\nport = 0\\nrequest_timeout = 0.1' },
         env: {},
         routes(app) {
           app.get("/timer", (req, res) => setTimeout(() => res.status(200).json({ late: true }), 400));
           app.get("/async", async (req, res) => {
             await new Promise((resolve) => setTimeout(resolve, 400));
             res.setHeader("X-Late", "1");
             res.write("a");
             res.end("b");
           });
           app.get("/fail", async () => {
             await new Promise((resolve) => setTimeout(resolve, 400));
             throw new Error("late");
           });
           app.get("/done", (req, res) => setTimeout(() => res.sendStatus(204), 0));
         },
       });
       await service.start();`,
    );
    await child.listening();
    const answers = await Promise.all(
      ["timer", "async", "fail"].map((path) => fetch(`${child.url()}/${path}`)),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([504, 504, 504]);
    await child.line((line) => line["message"] === "a response failed after its head had been sent");
    // The request for `/done` has the same short time limit, so it may need several attempts.
    await until("an answer", async () => (await fetch(`${child.url()}/done`)).status === 204);
    child.kill("SIGTERM");
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
    const drain = await child.line((line) => line["phase"] === "drain");
    expect(drain["in_flight"]).to.equal(0);
    expect(child.lines().filter((line) => line["level"] === "fatal")).to.deep.equal([]);
  });

  it("LIM-4 applies to a request listener without Express that serve() runs", async () => {
    await using serving = await serve(() => undefined, {
      host: "127.0.0.1",
      port: 0,
      signals: false,
      drainDelaySeconds: 0,
      requestTimeoutSeconds: 0.1,
    });
    const answer = await fetch(`http://127.0.0.1:${serving.address.port}/x`);
    expect(answer.status).to.equal(504);
    expect(await answer.json()).to.include({ status: 504, request_id: answer.headers.get("x-request-id") });
  });

  it("LIM-4 does not limit a handler when it is 0", async () => {
    const asked = Promise.withResolvers<() => void>();
    const options = { host: "127.0.0.1", port: 0, signals: false, drainDelaySeconds: 0 } as const;
    await using serving = await serve((_req, res) => asked.resolve(() => void res.end("at last")), {
      ...options,
      requestTimeoutSeconds: 0,
    });
    await using limited = await serve(() => undefined, { ...options, requestTimeoutSeconds: 0.1 });
    const answer = fetch(`http://127.0.0.1:${serving.address.port}/x`);
    const respond = await asked.promise;
    // Respond after a later request has exceeded a time limit.
    expect((await fetch(`http://127.0.0.1:${limited.address.port}/x`)).status).to.equal(504);
    respond();
    expect(await (await answer).text()).to.equal("at last");
  });

  it("LIM-4 keeps a handler's header Connection: close while the body is still arriving", async () => {
    await using test = await startService({
      toml,
      routes: (app) => {
        app.post("/", (_req, res) => void res.setHeader("Connection", "close"));
      },
    });
    const sent = httpRequest(`${test.url}/`, { method: "POST", headers: { "Content-Length": 10 } });
    sent.on("error", () => undefined);
    sent.write("half");
    const [answer] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    expect(answer.statusCode).to.equal(504);
    expect(answer.headers["connection"]).to.equal("close");
    answer.resume();
    await once(answer, "close");
  });
});

function* endless(): Generator<string> {
  for (;;) yield "late";
}

function keepAlive(): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}
