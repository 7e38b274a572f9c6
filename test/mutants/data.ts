import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on monthly totals and search. */
export const data: Mutants = {
  "ROLL-1": {
    file: "packages/rollups/src/sql/recompute.ts",
    find: "select ${key}, $1::date${list(",
    replace: "select ${key}, $1::date + interval '1 day'${list(",
  },
  "ROLL-2": {
    file: "packages/rollups/src/sql/recompute.ts",
    find: 'const set = names.measures.map((each) => `${each} = excluded.${each}`).join(", ");',
    replace:
      'const set = names.measures.map((each) => `${each} = totals.${each} + excluded.${each}`).join(", ");',
  },
  "ROLL-3": {
    file: "packages/rollups/src/sql/lock.ts",
    find: 'const shared = mode === "queue" ? "_shared" : "";',
    replace: 'const shared = "_shared";',
  },
  "ROLL-4": {
    file: "packages/rollups/src/zone.ts",
    find: "const answered = `(${month} at time zone ${z})`;",
    replace: "const answered = `(${month} at time zone 'UTC')`;",
  },
  "ROLL-5": {
    file: "packages/rollups/src/rebuild.ts",
    find: "await refresher.lockMonth(tx, tenant, month)",
    replace: "await refresher.lockMonth(tx, null, month)",
  },
  "ROLL-6": {
    file: "packages/rollups/src/schema.ts",
    find: "on ${table} (${key}) nulls not distinct`",
    replace: "on ${table} (${key})`",
  },
  "ROLL-7": {
    file: "packages/rollups/src/arguments.ts",
    find: "{ length: monthNumber(last) - from + 1 }",
    replace: "{ length: monthNumber(last) - from }",
  },
  "SEARCH-1": {
    file: "packages/search-store/src/search/statement.ts",
    find: "`${tenantIs} and ${compileCondition(condition, parameters, table.filterKeys)}`",
    replace: "compileCondition(condition, parameters, table.filterKeys)",
    test: "packages/search-store/test/servers.test.ts",
  },
  "SEARCH-2": {
    file: "packages/search-store/src/ingest.ts",
    find: "return `delete from ${quotedTable} where tenant_id = $1 and document_id = $2 and ordinal >= $3`;",
    replace:
      "return `delete from ${quotedTable} where $1::text is not null and document_id = $2 and ordinal >= $3`;",
    test: "packages/search-store/test/servers.test.ts",
  },
  "SEARCH-3": {
    file: "packages/search-store/src/search/check-request.ts",
    find: "efSearch = 100, minScore",
    replace: "efSearch = 40, minScore",
    test: "packages/search-store/test/servers.test.ts",
  },
  "SEARCH-4": {
    file: "packages/search-store/src/search/check-request.ts",
    find: 'checkWhole(limit, "limit", 1, 100);',
    replace: 'checkWhole(limit, "limit", 1, 200);',
    test: "packages/search-store/test/servers.test.ts",
  },
  "SEARCH-5": {
    file: "packages/search-store/src/search/statement.ts",
    find: '`1 - (${exact(table, parameters, vector, "c.embedding")})`',
    replace: '`2 - (${exact(table, parameters, vector, "c.embedding")})`',
    test: "packages/search-store/test/servers.test.ts",
  },
  "SEARCH-6": {
    file: "packages/search-store/src/checks.ts",
    find: "if (!isTenantId(tenant)) {",
    replace: "if (false as boolean) {",
    test: "packages/search-store/test/bad-input.test.ts",
  },
};
