import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createDatabase, type Database, enableRowSecurity } from "@svc/database";
import { testDatabase, testRedis } from "@svc/dev-services";
import { codeBlocks, rawRequest, runSample } from "@svc/test-support";
import { expect } from "chai";
import { pages } from "./sample-expectations.ts";
import { eventually, get } from "./sample-requests.ts";

const mintedId = /[0-9a-f]{32}/g;

describe("the samples of README.md", () => {
  const file = new URL("../README.md", import.meta.url);
  const markdown = readFileSync(file, "utf8");

  it("consist of two JavaScript blocks", () => {
    expect(codeBlocks(markdown, "js")).to.have.lengthOf(2);
  });

  it("COR-1 COR-2 give every response a request id", async () => {
    await using sample = await runSample(file, 0);
    const answer = await get(sample, "/");
    expect(answer.headers.get("X-Request-ID")).to.match(/^[0-9a-f]{32}$/);
    expect(await answer.json()).to.deep.equal({ hello: "world" });
  });

  it("ERR-1 LOG-3 respond and log exactly as shown", async () => {
    const [found = "", missing = ""] = codeBlocks(markdown, "console");
    await using sample = await runSample(file, 1, { env: noSettings });
    const { port } = new URL(await sample.url);
    const asked = [
      ["/orders/1", "X-Request-ID: checkout-41\r\n", found],
      ["/orders/7?full=1", "", missing],
    ] as const;
    for (const [path, header, shown] of asked) {
      const { text } = await rawRequest(
        Number(port),
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`,
      );
      expect(shown.split("\n")[0]).to.include(path);
      expect(constant(text)).to.equal(constant(shown.slice(shown.indexOf("\n") + 1).trim()));
    }
    const lines = (): string[] =>
      sample
        .stdout()
        .split("\n")
        .filter((line) => line.includes('"message":"request"'));
    await eventually(() => lines().length === 2);
    expect(constant(lines().join("\n"))).to.equal(constant(codeBlocks(markdown, "json")[0]?.trim() ?? ""));
  });
});

const noSettings = { SVC_APP_NAME: "", SVC_ENV: "", SVC_PORT: "", SVC_DEBUG: "", SVC_LOG_JSON_LOGS: "" };

for (const [page, expectations] of Object.entries(pages)) {
  const file = new URL(`../docs/${page}.md`, import.meta.url);
  const blocks = codeBlocks(readFileSync(file, "utf8"), "js");

  describe(`the samples of docs/${page}.md`, () => {
    it(`consist of ${expectations.length} JavaScript blocks`, () => {
      expect(blocks).to.have.lengthOf(expectations.length);
    });

    const postgres = expectations.some(({ database }) => database)
      ? testDatabase({ name: "docs" })
      : undefined;
    const redis = expectations.some(({ redis: needed }) => needed) ? testRedis() : undefined;
    for (const [index, { shows, env = {}, around, check }] of expectations.entries()) {
      const code = blocks[index] ?? "";
      const commonjs = code.includes("require(");
      for (const { name, replace } of majorsFor(code)) {
        it(`${shows} (${name})`, async () => {
          await using needed = await around?.({
            code,
            databaseUrl: () => postgres?.url ?? "",
            redisUrl: () => redis?.url ?? "",
          });
          await using sample = await runSample(file, index, {
            env: { ...noSettings, ...env, ...needed?.env },
            replace: { ...replace, ...needed?.replace },
            files: needed?.files ?? {},
            commonjs,
          });
          await check(sample, needed);
        });
      }
    }
  });
}

describe("the logins of docs/operate.md", () => {
  const postgres = testDatabase({ name: "logins" });
  const operate = readFileSync(new URL("../docs/operate.md", import.meta.url), "utf8");

  it("limit the service to one tenant's rows, and show the operator all rows", async () => {
    const suffix = randomBytes(4).toString("hex");
    const [sql = ""] = codeBlocks(operate, "sql");
    await using admin = createDatabase({ url: postgres.url, max: 1 });
    await admin.query(sql.replaceAll(/\bshop(_\w+)?\b/g, (name) => `${name}_${suffix}`));
    const as = (name: string): Database => {
      const url = new URL(postgres.url);
      url.username = `${name}_${suffix}`;
      url.password = "secret";
      return createDatabase({ url: url.href, max: 1, rowSecurity: true });
    };
    try {
      await using owner = as("shop_owner");
      await owner.query("create table letters (tenant_id text not null, number serial)");
      await owner.query("insert into letters values ('acme'), ('globex')");
      expect(await enableRowSecurity(owner, { table: "letters" })).to.equal("created");
      await using shop = as("shop");
      expect(await enableRowSecurity(shop, { table: "letters" })).to.equal("present");
      const all = "select tenant_id from letters order by 1";
      const mine = await shop.withTenant("acme", async (tx) => {
        await tx.query("insert into letters values ('acme')");
        return tx.query(all);
      });
      expect(mine.rows).to.have.lengthOf(2);
      for (const db of [shop, owner]) expect((await db.query(all)).rows).to.deep.equal([]);
      await using operator = as("shop_operator");
      expect((await operator.query(all)).rows).to.have.lengthOf(3);
      const detail = async (db: Database): Promise<string> =>
        (await db.readiness().check(AbortSignal.timeout(5000))).detail;
      expect(await detail(shop)).to.equal("connected");
      expect(operate).to.include(`\`${await detail(operator)}\``);
    } finally {
      for (const name of ["shop", "shop_operator", "shop_owner"]) {
        await admin.query(`drop owned by ${name}_${suffix} cascade; drop role ${name}_${suffix}`);
      }
    }
  });
});

/**
 * Returns the Express majors to run a sample on: both if the sample imports Express, otherwise a single run without
 * replacements.
 */
function majorsFor(code: string): { name: string; replace: Record<string, string> }[] {
  const spelling = ['require("express")', 'from "express"'].find((each) => code.includes(each));
  if (spelling === undefined) return [{ name: "no Express", replace: {} }];
  const older = spelling.replace('"express"', '"express4"');
  return [
    { name: "Express 5", replace: {} },
    { name: "Express 4", replace: { [spelling]: older } },
  ];
}

/** Replaces dates, durations and generated ids with fixed strings, and CRLF with LF. */
function constant(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(mintedId, "<id>")
    .replaceAll(/^Date: .*$/gm, "Date: <date>")
    .replaceAll(/"time":"[^"]*"/g, '"time":"<time>"')
    .replaceAll(/"duration_ms":[\d.]+/g, '"duration_ms":0');
}
