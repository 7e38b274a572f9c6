import { ConfigurationError } from "@svc/options";
import { defineRollup, type RollupOptions } from "@svc/rollups";
import { expect } from "chai";
import { EXPENSES } from "./support/expenses.ts";

describe("defineRollup()", () => {
  const measure = (sql: string, more: object = {}): unknown => ({ n: { sql, type: "bigint", ...more } });
  const group = (more: object): unknown => ({ category: { column: "category", ...more } });

  const WRONG: readonly (readonly [part: string, options: Record<string, unknown>])[] = [
    ["name", { name: 'x"; drop table y' }],
    ["name", { name: "X" }],
    ["name", { name: "x".repeat(41) }],
    ["table", { table: "x".repeat(49) }],
    ["table", { table: "a.b.c" }],
    ["source", { source: undefined }],
    ["tenantColumn", { source: { table: "t", timeColumn: "at" } }],
    ["tenantType", { source: { ...EXPENSES.source, tenantType: "json" } }],
    ["source.timeColumn", { source: { ...EXPENSES.source, timeColumn: "x".repeat(64) } }],
    ["timeColum", { source: { ...EXPENSES.source, timeColum: "at" } }],
    ["groupBy.category.type", { groupBy: group({ type: "text" }) }],
    ["groupBy.category.type", { groupBy: group({ type: "varchar(64); drop table x" }) }],
    ["groupBy", { groupBy: group({ type: "varchar(401)" }) }],
    ["groupBy.category.whenNull", { groupBy: group({ type: "varchar(2)", whenNull: "none" }) }],
    ["must not contain NUL", { groupBy: group({ whenNull: "a\0" }) }],
    ["must be a value of integer", { groupBy: group({ type: "integer", whenNull: "none" }) }],
    ["must be a value of smallint", { groupBy: group({ type: "smallint", whenNull: "32768" }) }],
    ["must be a value of boolean", { groupBy: group({ type: "boolean", whenNull: "maybe" }) }],
    ["must be a value of uuid", { groupBy: group({ type: "uuid", whenNull: "0" }) }],
    ["the name svc_month is already used", { groupBy: { svc_month: { column: "category" } } }],
    [
      "source.where: has unbalanced parentheses",
      { source: { ...EXPENSES.source, where: "a = 1) or (b = 2" } },
    ],
    [
      "source.tenantTable: has no use where rows have no tenant",
      { source: { ...EXPENSES.source, tenantColumn: null, tenantTable: "tenants" } },
    ],
    ["source.tenantTable: ", { source: { ...EXPENSES.source, tenantTable: "a.b.c" } }],
    ["source.where: must be SQL", { source: { ...EXPENSES.source, where: " " } }],
    ["source.where: must not contain NUL", { source: { ...EXPENSES.source, where: "a = 1\0" } }],
    ["measures.n.sql: must not contain NUL", { measures: measure("count(*)\0") }],
    ["must not sum double", { measures: { n: { sql: "sum(x)", type: "double precision" } } }],
    ["must not sum real", { measures: { n: { sql: "x()", type: "real", combine: "sum" } } }],
    ["tooLong", { groupBy: group({ tooLong: "ignore" }) }],
    ["column", { groupBy: { category: {} } }],
    ["the name month is already used", { groupBy: { month: { column: "category" } } }],
    ["the name tenant_id is already used", { measures: { tenant_id: { sql: "count(*)", type: "bigint" } } }],
    ["the name xmin is already used", { groupBy: { xmin: { column: "category" } } }],
    ["is not a valid name", { groupBy: JSON.parse('{ "__proto__": { "column": "category" } }') as object }],
    ["the name total is already used", { groupBy: { total: { column: "category" } } }],
    ["is not a valid name", { groupBy: { 'a"b': { column: "category" } } }],
    [
      "at most 8",
      {
        groupBy: Object.fromEntries(
          Array.from("abcdefghi", (name) => [name, { column: name, type: "bigint" }]),
        ),
      },
    ],
    ["1 to 50", { measures: {} }],
    ["type", { measures: measure("count(*)", { type: "bigint; drop table x" }) }],
    ["how months add up", { measures: measure("count(distinct category)") }],
    ["how months add up", { measures: measure("sum(amount) / count(*)") }],
    ["how months add up", { measures: measure("avg(amount)") }],
    ["has unbalanced parentheses", { measures: measure("sum(amount") }],
    [
      "cannot combine nonAdditive with combine",
      { measures: measure("count(*)", { nonAdditive: true, combine: "sum" }) },
    ],
    ["timeZone", { timeZone: "Mars/Base" }],
    ["timeZone", { timeZone: "+02:00" }],
    ["timeZone", { timeZone: "Foo5" }],
    ["timeZone", { timeZone: "CET" }],
    ["timeZone", { timeZone: "bst" }],
    ["timeZone", { timeZone: "SystemV/AST4ADT" }],
    ["timeZone", { timeZone: "UTC'; drop table x; --" }],
    ["timeZone", { timeZone: "" }],
    ["tenantSetting", { tenantSetting: "tenant" }],
    ["tableName", { tableName: "x" }],
  ];

  it("rejects invalid options, and names them", () => {
    for (const [part, options] of WRONG) {
      const define = (): unknown => defineRollup({ ...EXPENSES, ...options } as unknown as RollupOptions);
      expect(define, JSON.stringify(options)).to.throw(ConfigurationError, part);
    }
  });

  it("derives `combine` from a single count, sum, min or max", () => {
    const sqls = [
      "count(*)",
      " Sum ( amount )",
      "sum(case when category = ')' then 1 end)",
      'max("odd)" + 1)',
      "max(length(E'it\\'s (') + length($q$ :( $q$) /* ( */) -- (",
      "count(*) filter (where (amount > 0) and category <> '(')",
      "min(distinct amount)",
    ];
    for (const sql of sqls) {
      const rollup = defineRollup({ ...EXPENSES, measures: measure(sql) as RollupOptions["measures"] });
      expect(rollup.ddl(), sql).to.contain('"n" bigint');
    }
    const said = measure("sum(amount) - coalesce(sum(back), 0)", { combine: "sum" });
    expect(() => defineRollup({ ...EXPENSES, measures: said as RollupOptions["measures"] })).not.to.throw();
  });

  it("ROLL-1 ROLL-6 returns a rollup whose ddl() creates the tables and recommends the source index", () => {
    const ddl = defineRollup({ ...EXPENSES, table: "reports.spent" }).ddl();
    expect(ddl).to.equal(`create table if not exists "reports"."spent" (
  tenant_id text collate "C",
  month date not null,
  "category" varchar(64) collate "C",
  "total" numeric,
  "n" bigint
);
create unique index if not exists "spent_bucket_idx" on "reports"."spent" (tenant_id, month, "category") nulls not distinct;
create table if not exists "reports"."svc_rollups" (
  rollup text collate "C" primary key,
  zone text not null
);
create table if not exists "reports"."svc_rollup_refreshes" (
  rollup text collate "C" not null,
  tenant text collate "C",
  month date not null,
  generation bigint not null,
  unique nulls not distinct (rollup, tenant, month)
);
insert into "reports"."svc_rollups" (rollup, zone) values ('spent', 'Europe/Berlin') on conflict do nothing;
-- Every refresh reads a month of a tenant; without this index it reads the whole table:
-- create index concurrently on "expenses" ("tenant_id", "spent_at");
`);
  });
});
