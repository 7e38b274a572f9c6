import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { createDatabase } from "@svc/database";
import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import type { Import } from "../src/imports/import.ts";
import { takeRows } from "../src/imports/store.ts";
import { caller, tokenOf } from "./support/caller.ts";
import { list, walk } from "./support/expenses.ts";
import { untilActivity } from "./support/activity.ts";
import { header, rowsOf, sendFile, untilImport } from "./support/files.ts";
import { serviceFor } from "./support/running-service.ts";

const limits = { maxRows: 400, batchRows: 25, stepRows: 20 };

describe("a file of expenses", function () {
  this.timeout(30_000);
  const running = serviceFor(testDatabase({ name: "imports" }), { imports: limits });

  // The service reads the rest of an oversized body for two seconds, so send it before the other tests.
  let tooLarge: Promise<number | undefined>;
  before("a file that is too large", async () => {
    // This request creates the tables.
    await list(running.url, {});
    tooLarge = sendTooLarge();
    tooLarge.catch(() => undefined);
  });

  async function staged(tenant: string): Promise<number> {
    await using db = createDatabase({ url: running.databaseUrl });
    const { rows } = await db.withTenant(tenant, (tx) =>
      tx.query<{ count: number }>("select count(*)::int as count from imports"),
    );
    return rows[0]?.count ?? -1;
  }

  it("JOB-17 is recorded as expenses of its tenant, and its import reports why invalid rows failed", async () => {
    const file = [
      "\uFEFFnote,paid_at,amount,category",
      '"lunch, for ""two""\r\nand more",2026-03-01T12:00:00+02:00,12.5,meals',
      "",
      "taxi,2026-02-30T12:00:00Z,-8,plane",
      "taxi,2026-03-02T12:00:00Z,8",
      ",2026-03-03T12:00:00Z,7,travel",
    ].join("\r\n");
    const place = await sendFile(running.url, file, "cafe");
    const { id, created_at, finished_at, ...done } = await untilImport(running.url, place, undefined, "cafe");
    expect(place).to.equal(`/imports/${id}`);
    expect(Date.parse(finished_at ?? "")).to.be.at.least(Date.parse(created_at));
    expect(done).to.deep.equal({
      state: "done",
      rows: 4,
      recorded: 2,
      failed: 2,
      failures: [
        {
          line: 5,
          errors: [
            { loc: ["row", "category"], msg: "must be one of travel, meals, office, software, other" },
            { loc: ["row", "amount"], msg: 'must be a decimal as text, such as "12.50"' },
            {
              loc: ["row", "paid_at"],
              msg: "must be a time that exists, RFC 3339 with a zone, such as 2026-03-01T12:00:00Z",
            },
          ],
        },
        { line: 6, errors: [{ loc: ["row"], msg: "must have 4 fields; it has 3" }] },
      ],
    });
    const { expenses } = await list(running.url, { tenant: "cafe" });
    expect(expenses.map(({ id: _id, ...expense }) => expense)).to.deep.equal([
      { tenant: "cafe", category: "travel", amount: "7.00", note: "", paid_at: "2026-03-03T12:00:00.000Z" },
      {
        tenant: "cafe",
        category: "meals",
        amount: "12.50",
        note: 'lunch, for "two"\r\nand more',
        paid_at: "2026-03-01T10:00:00.000Z",
      },
    ]);
  });

  it("is stored and processed in batches", async () => {
    const place = await sendFile(running.url, `${header}\n${rowsOf(60)}`, "steps");
    const { recorded, failed } = await untilImport(running.url, place, undefined, "steps");
    expect({ recorded, failed }).to.deep.equal({ recorded: 60, failed: 0 });
    expect(await walk(running.url, { tenant: "steps", limit: "100" })).to.have.length(60);
    await untilActivity(running.url, 60, "steps");
  });

  it("TEN-6 AUTH-15 is rejected without the write scope, and its import is invisible to other tenants", async () => {
    const place = await sendFile(running.url, `${header}\n${rowsOf(1)}`, "mine");
    expect((await caller(running.url, "theirs").get(place)).status).to.equal(404);
    for (const wrong of ["/imports/1", "/imports/%00", `/imports/${"0".repeat(32)}`]) {
      expect((await caller(running.url, "mine").get(wrong)).status, wrong).to.equal(404);
    }
    const reader = caller(running.url, "mine", { scope: "expenses:read" });
    expect((await reader.post("/expenses/import").type("text/csv").send(header)).status).to.equal(403);
  });

  describe("that is invalid", () => {
    const good = `${header}\n${rowsOf(1)}`;
    const wrong: Readonly<
      Record<
        string,
        readonly [send: string | Buffer, status: number, says: RegExp, headers?: Record<string, string>]
      >
    > = {
      "of another media type": ["{}", 415, /text\/csv/, { "Content-Type": "application/json" }],
      "in another charset": [good, 415, /utf-8/, { "Content-Type": "text/csv; charset=iso-8859-1" }],
      compressed: [gzipSync(good), 415, /compressed/, { "Content-Encoding": "gzip" }],
      "not UTF-8": [Buffer.concat([Buffer.from(good), Buffer.from([0xe9, 0x0a])]), 400, /not UTF-8/],
      "cut within a letter": [Buffer.concat([Buffer.from(good), Buffer.from([0xc3])]), 400, /not UTF-8/],
      empty: ["", 422, /must have a header/],
      "a header alone": [`${header}\n\n`, 422, /at least one row/],
      "without a column": ["category,amount\nmeals,1\n", 422, /"loc":\["header","paid_at"\]/],
      "with an unknown column": [`${header},colour\n`, 422, /"loc":\["header",4\].*is unknown/],
      "with a column twice": [`${header},note\n`, 422, /must appear once/],
      "with a quote that stays open": [`${good}"meals,1`, 422, /line 3 has a quote that is never closed/],
      "with text behind a quote": [`${good}"meals"x,1`, 422, /line 3 has text after a closing quote/],
      "with a quote within": [`${good}me"als,1`, 422, /line 3 has a quote in a field/],
      "with NUL": [`${good}meals\0,1`, 422, /line 3 contains NUL/],
      "with a row without end": [good + "x".repeat(9000), 422, /line 3 is longer than 8192/],
      "of too many rows": [`${header}\n${rowsOf(401)}`, 413, /400 rows/],
      "too large": ["x".repeat(2_200_000), 413, /2097152 bytes/],
    };
    for (const [what, [sent, status, says, headers]] of Object.entries(wrong)) {
      it(`is rejected with a problem and leaves no rows: ${what}`, async () => {
        const asked = caller(running.url, "wrong")
          .post("/expenses/import")
          .type("text/csv")
          .set(headers ?? {});
        const answer = await asked.send(sent);
        expect({ status: answer.status, type: answer.type }, answer.text).to.deep.equal({
          status,
          type: "application/problem+json",
        });
        expect(answer.text).to.match(says);
        expect(await staged("wrong")).to.equal(0);
        expect((await list(running.url, { tenant: "wrong" })).expenses).to.deep.equal([]);
      });
    }
  });

  /** Begins a chunked upload of a file. */
  function begun(tenant: string): ClientRequest {
    const headers = { Authorization: `Bearer ${tokenOf(tenant)}`, "Content-Type": "text/csv" };
    const sending = httpRequest(`${running.url}/expenses/import`, { method: "POST", headers });
    sending.on("error", () => undefined);
    sending.write(`${header}\n${rowsOf(limits.batchRows + 1)}`);
    return sending;
  }

  async function sendTooLarge(): Promise<number | undefined> {
    const sending = begun("large");
    await untilStaged("large", 1);
    const answered = once(sending, "response") as Promise<[IncomingMessage]>;
    sending.end(`meals,1,2026-03-01T12:00:00Z,${"x".repeat(8000)}\n`.repeat(300));
    const [{ statusCode }] = await answered;
    sending.destroy();
    return statusCode;
  }

  async function untilStaged(tenant: string, count: number): Promise<void> {
    for (let tries = 0; tries < 1500 && (await staged(tenant)) !== count; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await staged(tenant)).to.equal(count);
  }

  it("leaves no rows when the upload is aborted", async () => {
    const sending = begun("gone");
    await untilStaged("gone", 1);
    sending.destroy();
    await untilStaged("gone", 0);
  });

  it("leaves the connection usable when it is refused halfway", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { Authorization: `Bearer ${tokenOf("halfway")}`, "Content-Type": "text/csv" };
    const ask = async (file: string): Promise<readonly [number | undefined, boolean]> => {
      const sending = httpRequest(`${running.url}/expenses/import`, { method: "POST", headers, agent });
      sending.end(file);
      const [answer] = (await once(sending, "response")) as [IncomingMessage];
      await once(answer.resume(), "end");
      return [answer.statusCode, sending.reusedSocket];
    };
    try {
      expect(await ask(`colour\n${"red\n".repeat(400_000)}`)).to.deep.equal([422, false]);
      expect(await ask("colour\nred\n")).to.deep.equal([422, true]);
    } finally {
      agent.destroy();
    }
  });

  it("is processed by row positions instead of a join, even if the table's statistics are misleading", async () => {
    await using db = createDatabase({ url: running.databaseUrl });
    const plan = await db.withTenant("mine", (tx) =>
      takeRows({ query: (text, values) => tx.query(`explain ${text}`, values) }, "0".repeat(32), 200),
    );
    expect(JSON.stringify(plan))
      .to.contain("Delete on import_rows")
      .and.not.match(/Join|Nested Loop/);
  });

  it("reports only the first hundred failures if every row fails", async () => {
    const place = await sendFile(running.url, `${header}\n${"toys,1,2026-03-01T12:00:00Z,\n".repeat(130)}`);
    const { recorded, failed, failures }: Import = await untilImport(running.url, place);
    expect({ recorded, failed }).to.deep.equal({ recorded: 0, failed: 130 });
    expect(failures.map(({ line }) => line)).to.deep.equal(Array.from({ length: 100 }, (_, n) => n + 2));
  });

  it("LIM-3 is refused when it exceeds the limit during the upload, and leaves no rows", async () => {
    expect(await tooLarge).to.equal(413);
    await untilStaged("large", 0);
  });
});
