import { health } from "@svc/health";
import { expect } from "chai";
import request from "supertest";
import { check } from "./support/checks.ts";
import { bare } from "./support/hosts.ts";

const about = { service: "orders", version: "1.2.3", env: "local" } as const;

async function readyText(checks: Parameters<typeof check>[2][]): Promise<string> {
  const declared = checks.map((result, index) => check(`check-${index}`, true, result));
  return (await request(bare(health({ ...about, checks: declared }))).get("/ready")).text;
}

async function detailOf(result: Parameters<typeof check>[2]): Promise<string | undefined> {
  const { checks } = await health({ ...about, checks: [check("one", true, result)] }).report();
  return checks["one"]?.detail;
}

class PoolError extends Error {
  readonly dsn = "postgres://app:canary@db/orders";
  readonly code = "ECONNREFUSED";
}

describe("the report of /ready", () => {
  it("RDY-12 contains the class of a thrown error but not its message", async () => {
    const thrown: unknown[] = [
      new Error("connect postgres://app:canary@db/orders"),
      new PoolError("canary"),
      new AggregateError([new Error("canary")], "canary"),
      new Error("outer", { cause: new Error("canary") }),
      Object.assign(new Error("x"), { name: "canary", code: "canary", toJSON: () => "canary" }),
      { message: "canary" },
      "canary",
      undefined,
      Object.create(null),
      Object.defineProperty({}, "constructor", {
        get: () => {
          throw new Error("canary");
        },
      }),
    ];
    const classes = [
      "Error",
      "PoolError",
      "AggregateError",
      "Error",
      "Error",
      "Object",
      "string",
      "undefined",
      "Error",
      "Error",
    ];
    for (const [index, error] of thrown.entries()) {
      const sync = (): never => {
        throw error;
      };
      const text = await readyText([sync, async () => sync()]);
      expect(text).not.to.contain("canary");
      const { checks } = JSON.parse(text) as { checks: Record<string, { status: string; detail: string }> };
      for (const each of Object.values(checks)) {
        expect(each.status).to.equal("error");
        expect(each.detail).to.equal(`health check raised: ${classes[index]}`);
      }
    }
  });

  it("RDY-12 contains the code of a thrown system error", async () => {
    const text = await readyText([() => Promise.reject(new PoolError("canary"))]);
    expect(JSON.parse(text)).to.have.nested.property("checks.check-0.meta").that.deep.equals({
      code: "ECONNREFUSED",
    });
  });

  it("RDY-12 contains the class of the error that a getter of a result throws", async () => {
    const hostile = {
      get healthy(): boolean {
        throw new RangeError("canary");
      },
    };
    expect(await detailOf(() => hostile)).to.equal("health check raised: RangeError");
  });

  it("RDY-12 contains the class of a thrown error whose getters throw, and Error for a thrown revoked proxy", async () => {
    const closed = Object.defineProperty(new RangeError("canary"), "code", {
      get() {
        throw new Error("canary");
      },
    });
    const { proxy, revoke } = Proxy.revocable(new Error("canary"), {});
    revoke();
    const raise = (error: unknown) => (): never => {
      throw error;
    };
    expect(await detailOf(raise(closed))).to.equal("health check raised: RangeError");
    expect(await detailOf(raise(proxy))).to.equal("health check raised: Error");
  });

  it("masks members of `meta` whose names indicate secrets, as /info does for plugins", async () => {
    const meta = { dbPassword: "canary", api_key: "canary", token_count: "5", tokens: 7, node: "a" };
    const text = await readyText([{ healthy: true, detail: "x", meta }]);
    expect(JSON.parse(text)).to.have.nested.property("checks.check-0.meta").that.deep.equals({
      dbPassword: "***",
      api_key: "***",
      token_count: "5",
      tokens: 7,
      node: "a",
    });
    const keys = {
      tokens: ["canary"],
      secrets: { first: "canary" },
      privateKey: "canary",
      credentials: null,
    };
    const plugins = [{ name: "mail", smtp: { password: "canary", host: "mail.example" }, ...keys }];
    const answer = await request(bare(health({ ...about, plugins }))).get("/info");
    expect((answer.body as { plugins: unknown }).plugins).to.deep.equal([
      {
        name: "mail",
        smtp: { password: "***", host: "mail.example" },
        tokens: "***",
        secrets: "***",
        privateKey: "***",
        credentials: null,
      },
    ]);
  });

  it("RDY-12 contains no user-info and no query of a URL in a detail", async () => {
    const cases: Record<string, string> = {
      "no answer from postgres://app:canary@db:5432/orders?sslpassword=canary":
        "no answer from postgres://db:5432/orders",
      "redis://:canary@cache:6379/0": "redis://cache:6379/0",
      "amqp://canary@mq": "amqp://mq",
      "postgres://app:can@ry/ca?n#ary@db/orders": "postgres://db/orders",
      "a http://u:canary@x/y#canary b": "a http://x/y b",
      "app:canary@db:5432/orders": "db:5432/orders",
      "host=db user=app password=canary dbname=x": "host=db user=app password=*** dbname=x",
      "client_secret=canary PGPASSWORD=canary": "client_secret=*** PGPASSWORD=***",
      "dbPassword:  canary passphrase=canary": "dbPassword:  *** passphrase=***",
      "Authorization: Bearer canary": "Authorization: ***",
      '{"password": "canary one"}': '{"password": ***}',
      "https://status.example/orders": "https://status.example/orders",
      "3 of 20 connections at 10:45": "3 of 20 connections at 10:45",
    };
    for (const [detail, shown] of Object.entries(cases)) {
      expect(await detailOf({ healthy: true, detail })).to.equal(shown);
    }
  });

  it("contains details without control characters, truncated to 200 characters", async () => {
    expect(await detailOf({ healthy: true, detail: "a\r\n\u001b[31mb\u0000\u2028c\u202ed" })).to.equal(
      "a [31mb c d",
    );
    expect(await detailOf({ healthy: true, detail: "x".repeat(5_000) })).to.equal("x".repeat(200));
    const cut = await detailOf({ healthy: true, detail: `${"x".repeat(199)}\u{1f600}` });
    expect(cut).to.equal("x".repeat(199));
  });

  it("contains at most 200 characters of a detail with a million characters", async () => {
    for (const piece of ["a", "://", "@", "password=", "token", "a:", " ", "'\""]) {
      const detail = piece.repeat(Math.ceil(1e6 / piece.length));
      expect((await detailOf({ healthy: true, detail }))?.length).to.be.at.most(200);
    }
  });
});
