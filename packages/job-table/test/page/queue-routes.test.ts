import { openContext, type Middleware, type Principal } from "@svc/context";
import { routeTemplateOf } from "@svc/route-template";
import { testDatabase } from "@svc/dev-services";
import { createJobTable, queueRoutes, type QueueRoutesOptions } from "@svc/job-table";
import { forbidden, type ProblemError } from "@svc/problem";
import { collectingLogger, expressMajors, rawRequest, rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, expire, openBench, openPool } from "../support/bench.ts";
import { form, serve, stacks } from "./support/stacks.ts";

const ada: Principal = {
  subject: "ada",
  scopes: [],
  roles: ["admin"],
  tenant: undefined,
  tokenId: undefined,
  family: undefined,
  issuer: undefined,
  expiresAt: undefined,
  claims: {},
};
const signedIn: Middleware = (req, _res, next) => {
  openContext(req).principal = ada;
  next();
};

async function bury({ table }: Bench, ids: readonly string[], error: unknown = "broke"): Promise<void> {
  for (const id of ids) {
    await table.enqueue({ id, task: "mail.send", tenantId: "acme", availableAt: new Date(1e12) });
    const [job] = await table.claim();
    if (job !== undefined) await table.fail(job, error, { dead: true });
  }
}

async function statusOf(bench: Bench): Promise<Record<string, string>> {
  return Object.fromEntries((await bench.rows()).map(({ id, status }) => [id, status]));
}

describe("queueRoutes()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-page" });

  for (const stack of stacks) {
    describe(`on ${stack}`, () => {
      it("JOB-32 returns the counts at /queue/stats with no-store", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["a", "b"]);
        await bench.table.enqueue({ task: "alive" });
        await using server = await serve(stack, [queueRoutes({ table: bench.table })]);
        const answer = await fetch(`${server.url}/queue/stats`);
        expect(answer.status).to.equal(200);
        expect(answer.headers.get("cache-control")).to.equal("no-store");
        expect(answer.headers.get("content-type")).to.equal("application/json");
        expect(await answer.json()).to.deep.equal({ pending: 1, running: 0, dead: 2 });
      });

      it("JOB-32 shows depth, oldest waiting job, leases and dead jobs at /queue", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["letter-1"], `<script>alert("1")</script>${"x".repeat(400)}`);
        await bench.table.enqueue({ id: "held", task: "report.make", tenantId: "<b>&co" });
        await bench.table.claim();
        await bench.table.enqueue({ task: "sweep", availableAt: new Date(Date.now() - 3_700_000) });
        await bench.table.enqueue({ task: "later", delaySeconds: 3600 });
        await using server = await serve(stack, [
          queueRoutes({ table: bench.table, now: () => Date.UTC(2026, 0, 2, 3, 4, 5) }),
        ]);
        const answer = await fetch(`${server.url}/queue`);
        const text = await answer.text();
        expect(answer.status).to.equal(200);
        expect(answer.headers.get("content-type")).to.equal("text/html; charset=utf-8");
        expect(answer.headers.get("cache-control")).to.equal("no-store");
        expect(answer.headers.get("content-security-policy")).to.match(
          /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
        );
        expect(text).to.include("2026-01-02 03:04:05 UTC");
        expect(text).to.include("<dt>Pending</dt><dd>2</dd>");
        expect(text).to.include("<dt>Longest wait</dt><dd>1 h 1 min (sweep)</dd>");
        expect(text).to.include("<dt>Running</dt><dd>1</dd>");
        expect(text).to.include("report.make").and.include("&lt;b&gt;&amp;co").and.include("1 of 3");
        expect(text).not.to.include("has ended");
        expect(text).to.include("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;").and.include("x …");
        expect(text).not.to.include("x".repeat(300)).and.not.to.include("<script");
        await expire(bench);
        expect(await (await fetch(`${server.url}/queue`)).text()).to.include("has ended");
      });

      it("JOB-12 JOB-32 makes one or all dead jobs pending with a button, shows the result, and logs subject and ids", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["a&b", "b", "c"]);
        const logger = collectingLogger();
        await using server = await serve(stack, [signedIn, queueRoutes({ table: bench.table, logger })]);
        const one = await fetch(`${server.url}/queue/retry`, form({ id: "a&b" }));
        expect([one.status, one.headers.get("location")]).to.deep.equal([303, "../queue?retried=1"]);
        expect(one.headers.get("cache-control")).to.equal("no-store");
        expect(await statusOf(bench)).to.deep.equal({ "a&b": "pending", b: "dead", c: "dead" });
        const back = new URL(one.headers.get("location") ?? "", one.url);
        expect(await (await fetch(back)).text()).to.include("1 dead letter is pending again.");
        const all = await fetch(`${server.url}/queue/retry`, form({ all: "1" }));
        expect(all.headers.get("location")).to.equal("../queue?retried=2");
        expect(await statusOf(bench)).to.deep.equal({ "a&b": "pending", b: "pending", c: "pending" });
        const [first, second] = logger.lines;
        expect(first).to.deep.equal({
          level: "info",
          message: "dead letters retried on the queue page",
          fields: { subject: "ada", job_ids: ["a&b"], table: bench.table.name },
        });
        expect(second?.fields["job_ids"]).to.have.members(["b", "c"]);
      });

      it("JOB-32 reports that no job was retried when the given job is no longer dead", async () => {
        await using bench = await openBench(database.url);
        const logger = collectingLogger();
        await using server = await serve(stack, [queueRoutes({ table: bench.table, logger })]);
        const answer = await fetch(`${server.url}/queue/retry`, form({ id: "nobody" }));
        expect([answer.status, answer.headers.get("location")]).to.deep.equal([303, "../queue?retried=0"]);
        expect(logger.lines).to.deep.equal([]);
        const page = await fetch(new URL("../queue?retried=0", answer.url));
        expect(await page.text())
          .to.include("No job was retried")
          .and.include("There are no dead letters.");
      });

      it("JOB-32 returns 403 to a form from another origin, and changes nothing", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["a"]);
        await using server = await serve(stack, [queueRoutes({ table: bench.table })]);
        const plain = { "content-type": "application/x-www-form-urlencoded" };
        const foreign: readonly Readonly<Record<string, string>>[] = [
          { "sec-fetch-site": "cross-site", origin: server.url },
          { "sec-fetch-site": "same-site" },
          { "sec-fetch-site": "none" },
          { origin: "http://elsewhere.test" },
          { origin: "null" },
          { origin: `${server.url}/` },
          {},
        ];
        for (const headers of foreign) {
          const request = { method: "POST", body: "all=1", headers: { ...plain, ...headers } };
          const answer = await fetch(`${server.url}/queue/retry`, request);
          expect(answer.status, JSON.stringify(headers)).to.equal(403);
          expect(answer.headers.get("content-type")).to.equal("application/problem+json");
          expect(await answer.text()).to.include("this request must come from a page of the same origin");
        }
        expect(await statusOf(bench)).to.deep.equal({ a: "dead" });
        const own = { method: "POST", body: "all=1", headers: { ...plain, origin: server.url } };
        const answer = await fetch(`${server.url}/queue/retry`, { ...own, redirect: "manual" });
        expect(answer.status).to.equal(303);
      });

      it("rejects a request from another origin before the guard runs or the body is read (JOB-32, AUTH-34)", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["a"]);
        let guarded = 0;
        const guard: Middleware = (_req, _res, next) => {
          guarded++;
          next();
        };
        await using server = await serve(stack, [queueRoutes({ table: bench.table, guard })]);
        const foreign: readonly Readonly<Record<string, string>>[] = [
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site", origin: server.url },
          { origin: "http://elsewhere.test" },
          {},
        ];
        for (const headers of foreign) {
          for (const [path, method] of [
            ["/queue/retry", "POST"],
            ["/queue/retry", "PUT"],
            ["/queue", "POST"],
            ["/queue/stats", "DELETE"],
          ] as const) {
            const answer = await fetch(server.url + path, { ...form({ all: "1" }), method, headers });
            expect([path, method, answer.status]).to.deep.equal([path, method, 403]);
          }
        }
        expect(guarded).to.equal(0);
        expect(await statusOf(bench)).to.deep.equal({ a: "dead" });
        expect((await fetch(`${server.url}/queue/retry`, form({ all: "1" }))).status).to.equal(303);
        expect(guarded).to.equal(1);
      });

      it("JOB-32 runs the guard for every path and method before it reads or changes anything", async () => {
        await using bench = await openBench(database.url);
        await bury(bench, ["a"]);
        const guard: Middleware = (_req, _res, next) => next(forbidden("not you"));
        await using server = await serve(stack, [queueRoutes({ table: bench.table, guard })]);
        const asked = [
          fetch(`${server.url}/queue`),
          fetch(`${server.url}/queue/stats`),
          fetch(`${server.url}/queue/retry`, form({ all: "1" })),
          fetch(`${server.url}/queue`, { method: "DELETE", headers: { origin: server.url } }),
        ];
        for (const answer of await Promise.all(asked)) {
          expect(answer.status).to.equal(403);
          expect(await answer.text()).to.include("not you");
        }
        expect(await statusOf(bench)).to.deep.equal({ a: "dead" });
      });

      it("responds to HEAD without a body and to other methods with 405, and passes on other paths and OPTIONS", async () => {
        await using bench = await openBench(database.url);
        await using server = await serve(stack, [queueRoutes({ table: bench.table, path: "/ops/jobs" })]);
        for (const path of ["/ops/jobs", "/ops/jobs/stats"]) {
          const { status, body } = await rawRequest(
            server.port,
            `HEAD ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
          );
          expect([status, body]).to.deep.equal([200, ""]);
          const wrong = await fetch(server.url + path, { method: "POST", headers: { origin: server.url } });
          expect([wrong.status, wrong.headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
        }
        const wrong = await fetch(`${server.url}/ops/jobs/retry`);
        expect([wrong.status, wrong.headers.get("allow")]).to.deep.equal([405, "POST"]);
        expect((await fetch(`${server.url}/queue`)).status).to.equal(404);
        expect((await fetch(`${server.url}/ops/jobs/`)).status).to.equal(404);
        expect((await fetch(`${server.url}/ops/jobs`, { method: "OPTIONS" })).status).to.equal(404);
      });

      it("returns 400, 413 and 415 for invalid forms", async () => {
        await using bench = await openBench(database.url);
        await using server = await serve(stack, [queueRoutes({ table: bench.table })]);
        const url = `${server.url}/queue/retry`;
        const refused: readonly (readonly [RequestInit, number])[] = [
          [form({}), 400],
          [form({ ids: "a" }), 400],
          [form({ id: "a", all: "1" }), 400],
          [form("id=a%00"), 400],
          [form({ encoded: "%" }), 400],
          [form({ id: "x".repeat(20_000) }), 413],
          [form({ all: "1" }, { "content-type": "application/json" }), 415],
        ];
        for (const [request, status] of refused) {
          const answer = await fetch(url, request);
          expect(answer.status).to.equal(status);
          expect(answer.headers.get("content-type")).to.equal("application/problem+json");
        }
        const head = `POST /queue/retry HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: same-origin\r\nTransfer-Encoding: chunked\r\n`;
        const chunk = `4e20\r\n${"x".repeat(20_000)}\r\n0\r\n\r\n`;
        const type = "Content-Type: application/x-www-form-urlencoded\r\n\r\n";
        expect((await rawRequest(server.port, head + type + chunk)).status).to.equal(413);
      });
    });
  }

  for (const [major, express] of Object.entries(expressMajors)) {
    it(`JOB-32 retries a job when mounted below a path, and after body parsers, in ${major}`, async () => {
      await using bench = await openBench(database.url);
      await bury(bench, ["a", "b"]);
      const templates: (string | undefined)[] = [];
      const stack = major as (typeof stacks)[number];
      for (const parser of [
        express.json(),
        express.urlencoded({ extended: false }),
        express.text({ type: "*/*" }),
      ]) {
        await using server = await serve(
          stack,
          [parser as Middleware, queueRoutes({ table: bench.table })],
          "/admin",
        );
        const answer = await fetch(`${server.url}/admin/queue/retry`, form({ id: "a" }));
        expect(answer.status).to.equal(303);
        const back = new URL(answer.headers.get("location") ?? "", answer.url);
        expect(back.pathname).to.equal("/admin/queue");
        expect(await (await fetch(back)).text()).to.include('action="queue/retry"');
      }
      expect(await statusOf(bench)).to.deep.equal({ a: "pending", b: "dead" });
      const seen: Middleware = (req, res, next) => {
        res.once("finish", () => templates.push(routeTemplateOf(req)));
        next();
      };
      await using server = await serve(stack, [seen, queueRoutes({ table: bench.table })]);
      await (await fetch(`${server.url}/queue/stats?a=1`)).text();
      expect(templates).to.deep.equal(["/queue/stats"]);
    });
  }

  it("JOB-32 shows the 50 newest dead jobs and their total", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task, status, created_at)
       select 'letter-' || n, 'a', 'dead', now() - n * interval '1 minute' from generate_series(1, 60) as n`,
    );
    await using server = await serve("bare http", [queueRoutes({ table: bench.table })]);
    const text = await (await fetch(`${server.url}/queue`)).text();
    const ids = [...text.matchAll(/name="id" value="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).to.deep.equal(Array.from({ length: 50 }, (_, n) => `letter-${n + 1}`));
    expect(text).to.include("Retry all 60 dead letters").and.include("50 of 60");
  });

  it("JOB-32 shows at most 50 of the given schedules, and omits the section without schedules", async () => {
    await using bench = await openBench(database.url);
    const { table } = bench;
    const rows = Array.from({ length: 60 }, (_, n) => ({
      name: `nightly <${n}>`,
      task: "report.make",
      at: n === 0 ? "soon" : new Date(Date.UTC(2026, 0, 2, 3, n)).toISOString(),
    }));
    await using server = await serve("bare http", [
      queueRoutes({ table, path: "/some", schedules: () => rows }),
      queueRoutes({ table, path: "/no", schedules: () => [] }),
      queueRoutes({ table }),
    ]);
    const [some = "", no = "", none = ""] = await Promise.all(
      ["/some", "/no", "/queue"].map(async (path) => (await fetch(server.url + path)).text()),
    );
    expect(some).to.include('<th scope="row">nightly &lt;0&gt;</th><td>report.make</td><td>unknown</td>');
    expect(some)
      .to.include('<time datetime="2026-01-02T03:49:00.000Z">2026-01-02 03:49:00 UTC</time>')
      .and.include("50 of 60")
      .and.not.include("nightly &lt;50&gt;");
    expect(no).to.include("There are no schedules.");
    expect(none).not.to.match(/schedule/i);
  });

  it("shows rows from other programs without a lease, with times beyond the range of Date, or with long ids", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task, status, created_at, available_at, locked_until) values
       ('held', 'a', 'running', now(), now(), null), ($1, 'b', 'dead', 'infinity', now(), null),
       ('old', 'c', 'pending', now(), '-infinity', null)`,
      ["é".repeat(100)],
    );
    await using server = await serve("bare http", [queueRoutes({ table: bench.table })]);
    const text = await (await fetch(`${server.url}/queue`)).text();
    expect(text).to.include(">never<").and.include("<td>unknown</td>").and.include("unknown (c)");
    expect(text)
      .to.include(`<small>${"é".repeat(64)}…</small>`)
      .and.include(`value="${"é".repeat(100)}"`);
  });

  it("JOB-32 denies access when the guard throws", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    const guard: Middleware = () => {
      throw forbidden("not you");
    };
    await using server = await serve("bare http", [queueRoutes({ table, guard })]);
    expect((await fetch(`${server.url}/queue/stats`)).status).to.equal(403);
  });

  it("denies access when an async guard rejects", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    const guard = (() => Promise.reject(forbidden("not you"))) as Middleware;
    await using server = await serve("bare http", [queueRoutes({ table, guard })]);
    expect((await fetch(`${server.url}/queue`)).status).to.equal(403);
  });

  it("logs a retry with the request's logger by default, at most 100 ids per record", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task, status) select n::text, 'a', 'dead' from generate_series(1, 250) as n`,
    );
    const log = collectingLogger();
    const logging: Middleware = (req, _res, next) => {
      openContext(req).log = log;
      next();
    };
    await using server = await serve("bare http", [logging, queueRoutes({ table: bench.table })]);
    await fetch(`${server.url}/queue/retry`, form({ all: "1" }));
    const logged = log.lines.map(({ fields }) => fields["job_ids"] as string[]);
    expect(logged.map(({ length }) => length)).to.deep.equal([100, 100, 50]);
    expect(new Set(logged.flat()).size).to.equal(250);
    expect(log.lines[0]?.fields["subject"]).to.equal(null);
  });

  it("responds to a retry even when its logger throws", async () => {
    await using bench = await openBench(database.url);
    await bury(bench, ["a"]);
    const logger = {
      info(): never {
        throw new Error("the disk is full");
      },
    };
    await using server = await serve("bare http", [queueRoutes({ table: bench.table, logger })]);
    expect((await fetch(`${server.url}/queue/retry`, form({ all: "1" }))).status).to.equal(303);
  });

  it("JOB-32 returns 503 without the reason when the table is unreachable or does not respond within timeoutMs", async () => {
    const gone = openPool("postgres://ann:secret@127.0.0.1:9/none");
    const hanging = { query: () => new Promise<never>(() => undefined) };
    for (const db of [gone, hanging]) {
      const table = createJobTable({ db });
      await using server = await serve("bare http", [queueRoutes({ table, timeoutMs: 50 })]);
      const asked = [
        fetch(`${server.url}/queue`),
        fetch(`${server.url}/queue/stats`),
        fetch(`${server.url}/queue/retry`, form({ all: "1" })),
      ];
      for (const answer of await Promise.all(asked)) {
        expect(answer.status).to.equal(503);
        expect(answer.headers.get("retry-after")).to.equal("5");
        const text = await answer.text();
        expect(text).to.include("the job table does not answer; retry shortly");
        expect(text).not.to.match(/secret|ECONN|SQLSTATE/);
      }
    }
    await gone.end();
  });

  it("calls next with a problem and its code for a cross-origin, malformed, too large or truncated form, and for an unavailable table", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("out")) } });
    const { promise: cutOff, resolve } = Promise.withResolvers<string>();
    const codes: string[] = [];
    const routes = queueRoutes({ table });
    const watched: Middleware = (req, res, next) =>
      routes(req, res, (error) => {
        const { code } = error as ProblemError;
        codes.push(code);
        if (code === "ERR_SVC_BODY_INCOMPLETE") resolve(code);
        next(error);
      });
    await using server = await serve("bare http", [watched]);
    const url = `${server.url}/queue/retry`;
    await fetch(url, form({ all: "1" }, { "sec-fetch-site": "cross-site" }));
    await fetch(url, form({}));
    await fetch(url, form({ id: "x".repeat(20_000) }));
    await fetch(url, form({ all: "1" }));
    expect(codes).to.deep.equal([
      "ERR_SVC_CROSS_ORIGIN",
      "ERR_SVC_BODY_MALFORMED",
      "ERR_SVC_BODY_TOO_LARGE",
      "ERR_SVC_JOB_TABLE_UNAVAILABLE",
    ]);
    const type = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";
    const part = `POST /queue/retry HTTP/1.1\r\nHost: a\r\n${type}Content-Length: 9\r\n\r\nall`;
    await rawRequest(server.port, part, { endMs: 100 });
    expect(await cutOff).to.equal("ERR_SVC_BODY_INCOMPLETE");
  });

  it("sends no further statement while 16 statements hang", async () => {
    let sent = 0;
    const query = (): Promise<never> => {
      sent += 1;
      return new Promise(() => undefined);
    };
    const table = createJobTable({ db: { query } });
    await using server = await serve("bare http", [queueRoutes({ table, timeoutMs: 20 })]);
    const asked = Array.from({ length: 40 }, () => fetch(`${server.url}/queue/stats`));
    for (const answer of await Promise.all(asked)) expect(answer.status).to.equal(503);
    expect(sent).to.equal(16);
  });

  const wrong: readonly (readonly [object, string])[] = [
    [{ table: {} }, "table: must be a job table"],
    [{ table: { stats() {}, retryDead() {} } }, "table: must be a table returned by createJobTable()"],
    [{ path: "queue" }, "path: must be a path such as /queue"],
    [{ path: "/a/.." }, "path: must be a path such as /queue"],
    [{ path: "/" }, "path: must be a path such as /queue"],
    [{ guard: true }, "guard: must be a function"],
    [{ logger: {} }, "logger: must be a logger"],
    [{ timeoutMs: 0 }, "timeoutMs: must be a whole number from 10"],
    [{ now: 1 }, "now: must be a function"],
    [{ schedules: [] }, "schedules: must be a function"],
    [{ prefix: "/queue" }, "prefix: is unknown"],
  ];
  for (const [options, message] of wrong) {
    it(`rejects ${JSON.stringify(options)}`, async () => {
      const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
      const error = await rejection(() => queueRoutes({ table, ...options } as QueueRoutesOptions));
      expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
      expect(error.message).to.include(message);
    });
  }
});
