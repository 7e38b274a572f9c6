import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Pool } from "pg";
import { openClient, openPool, waiting } from "./support/bench.ts";

const fixture = new URL("./fixtures/svc_jobs.txt", import.meta.url);
const readme = new URL("../README.md", import.meta.url);
const script = fileURLToPath(new URL("support/ensuring.ts", import.meta.url));

/** Returns the catalogue's description of a table, one line per object. */
async function dump(pool: Pool, table: string): Promise<string> {
  const { rows } = await pool.query<{ line: string }>(
    `select line from (
      select 1 as part, attnum::int as place, concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod),
        case when attcollation not in (0, 100) then 'collate ' || (select collname from pg_collation where oid = attcollation) end,
        case when attnotnull then 'not null' end, 'default ' || pg_get_expr(adbin, adrelid),
        nullif(attidentity, ''), nullif(attgenerated, '')) as line
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = $1::regclass and attnum > 0
      union all select 2, conindid::int, 'constraint ' || conname || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where conrelid = $1::regclass and contype <> 'n'
      union all select 3, indexrelid::int, pg_get_indexdef(indexrelid) from pg_index where indrelid = $1::regclass
      union all select 4, 0, concat_ws(' ', relkind, relpersistence, relrowsecurity, reloptions, relhastriggers, relhasrules)
      from pg_class where oid = $1::regclass
    ) as parts order by part, place`,
    [table],
  );
  return rows.map(({ line }) => `${line}\n`).join("");
}

/** Returns the `create table` that follows from the README's table of columns. */
function documented(table: string): string {
  const [, section = ""] = readFileSync(readme, "utf8").split("## The table");
  const columns: string[] = [];
  for (const line of section.split("\n")) {
    if (!line.startsWith("| `")) continue;
    const [names = [], types = []] = line
      .split("|")
      .slice(1, 3)
      .map((cell) =>
        [...cell.matchAll(/`([^`]+)`([^`,]*)/g)].map(([, code = "", rest = ""]) => `${code}${rest}`.trim()),
      );
    const [type = ""] = types;
    names.forEach((name, n) => {
      // In a row with two columns, the second type lists only what differs from the first.
      const other = n === 0 ? undefined : types[n];
      columns.push(`${name} ${other === undefined ? type : type.replace(/\S+$/, other)}`);
    });
    if (columns.length === 13) break;
  }
  return `create table ${table} (${columns.join(", ")})`;
}

describe("the table's schema", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-dump" });

  it("JOB-2 JOB-24 JOB-30 equals the published dump", async () => {
    const pool = openPool(database.url);
    await createJobTable({ db: pool }).ensureSchema();
    expect(await dump(pool, "svc_jobs")).to.equal(readFileSync(fixture, "utf8"));
    await pool.end();
  });

  it("JOB-2 JOB-28 is accepted when created with the columns in the README", async () => {
    const pool = openPool(database.url);
    const sql = documented("by_readme");
    expect(sql).to.include("max_attempts integer not null default 3").and.include("trace jsonb");
    await pool.query(sql);
    const columns = async (name: string): Promise<string[]> =>
      (await dump(pool, name))
        .split("\n")
        .filter((line) => line.startsWith("column"))
        .map((line) => line.replace("collate C ", ""));
    const table = createJobTable({ db: pool, name: "by_readme" });
    expect(await table.ensureSchema()).to.equal("created");
    expect(await table.ensureSchema()).to.equal("present");
    expect(await columns("by_readme")).to.deep.equal(await columns("svc_jobs"));
    await table.enqueue({ id: "x", task: "a" });
    const [job] = await table.claim();
    expect(job === undefined ? "none" : await table.ack(job)).to.equal(true);
    await pool.end();
  });

  it("JOB-30 is created once by 16 processes that start concurrently on an empty database", async () => {
    await using gate = await openClient(database.url);
    await gate.query("select pg_advisory_lock(5)");
    const processes = Array.from({ length: 16 }, () => {
      const child = spawn(
        process.execPath,
        ["--conditions=@svc/source", script, database.url, "by_processes"],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
      return once(child, "close").then(([code]) => `${said} ${String(code)}`);
    });
    await until("all are there", async () => (await waiting(gate)) === 16, 50_000);
    await gate.query("select pg_advisory_unlock(5)");
    const said = (await Promise.all(processes)).toSorted();
    expect(said).to.deep.equal(["created 0", ...Array.from({ length: 15 }, () => "present 0")]);
  });
});
