import { expect } from "chai";
import { describeStatement } from "../src/sql/describe-statement.ts";
import { statementTokens } from "../src/sql/statement-tokens.ts";
import { redactStatement } from "../src/sql/redact-statement.ts";
import { countedText } from "./support/counted-text.ts";

describe("describeStatement()", () => {
  const known: readonly (readonly [text: string, operation: string, table: string])[] = [
    ["select * from orders", "SELECT", "orders"],
    ['-- one\nSELECT a, b\nFROM public."Or""der" AS o WHERE o.id = $1', "SELECT", 'public.Or"der'],
    ["select a from t x where b in ($1, $2) order by a, b limit 5 for update skip locked;", "SELECT", "t"],
    ["select extract(epoch from a), a is distinct from b from only t", "SELECT", "t"],
    ["select count(*) from t -- join u\n", "SELECT", "t"],
    ["select a.from from t as a", "SELECT", "t"],
    ["select a . into, (a).using, 1 as from from t as a", "SELECT", "t"],
    ["update t as a set b = a.from, c = a.join", "UPDATE", "t"],
    ["insert into Shop.orders (a, b) values ($1, 'from x'), ($2, ';') returning id", "INSERT", "Shop.orders"],
    [
      "insert into t values ($1) on conflict (a) do update set b = excluded.b where t.b is distinct from excluded.b",
      "INSERT",
      "t",
    ],
    ["insert into t default values", "INSERT", "t"],
    ["update only t as x set a = $1 where b = $2", "UPDATE", "t"],
    ["delete from \"t\" where a < now() - interval '1 day'", "DELETE", "t"],
  ];
  for (const [text, operation, table] of known) {
    it(`finds the table of ${text}`, () => {
      expect(describeStatement(text)).to.include({ operation, table });
    });
  }

  const several: readonly (readonly [text: string, operation: string])[] = [
    ["select 1", "SELECT"],
    ["select * from t, u", "SELECT"],
    ["select * from t x, u", "SELECT"],
    ["select * from t join u on true", "SELECT"],
    ["select * from t natural join u", "SELECT"],
    ["select * from t left join u using (id) where true", "SELECT"],
    ["select * from t union select * from u", "SELECT"],
    ["select * from t union table u", "SELECT"],
    ["select * from (select 1) as t", "SELECT"],
    ["select * from t where a in (select a from u)", "SELECT"],
    ["select * from generate_series(1, 2)", "SELECT"],
    ["select * from unnest($1::int[]) as t (a)", "SELECT"],
    ["select * into u from t", "SELECT"],
    ["(select * from t)", "SELECT"],
    ["select * from t; delete from u", "SELECT"],
    ["delete from t; vacuum", "DELETE"],
    ["insert into t select * from u", "INSERT"],
    ["insert into t (a) table u", "INSERT"],
    ["update t set a = u.a from u", "UPDATE"],
    ["update t set a = (select 1)", "UPDATE"],
    ["delete from t using u where t.a = u.a", "DELETE"],
    ["merge into t using u on true when matched then delete", "MERGE"],
    ["begin; insert into t values (1); commit", "BEGIN"],
    ["create table if not exists t (a int)", "CREATE"],
    ["ROLLBACK", "ROLLBACK"],
    ["set local app.tenant = 'acme'", "SET"],
    [`select * from "${"a".repeat(64)}"`, "SELECT"],
  ];
  for (const [text, operation] of several) {
    it(`finds only the operation of ${text.slice(0, 70)}`, () => {
      expect(describeStatement(text)).to.include({ operation, table: undefined });
    });
  }

  const expressions: readonly (readonly [text: string, operation: string])[] = [
    ["with a as (select 1) select * from a", "SELECT"],
    [
      "with recursive a (n) as (select 1), update as not materialized (select 2) insert into t table a",
      "INSERT",
    ],
    ["with a as materialized (select 1 from t for update) update t set b = 1 from a", "UPDATE"],
    ["with a as (delete from t returning *) (select * from a)", "WITH"],
    ["with recursive a as (select 1) search depth first by n set o select * from a", "WITH"],
    ["with", "WITH"],
  ];
  for (const [text, operation] of expressions) {
    it(`finds ${operation} in ${text}`, () => {
      expect(describeStatement(text)).to.include({ operation, table: undefined });
    });
  }

  for (const text of ["", " ", "secret", "'secret'", "4111", ";", "select1", "'x' -- select"]) {
    it(`finds nothing in ${JSON.stringify(text)}`, () => {
      expect(describeStatement(text)).to.include({ operation: undefined, table: undefined });
    });
  }

  it("omits the table of a statement of more than 100,000 characters", () => {
    const text = `insert into t values ${Array.from({ length: 20_000 }, (_, index) => `($${index + 1})`).join()}`;
    expect(describeStatement(text)).to.include({ operation: "INSERT", table: undefined });
    expect(describeStatement(text.slice(0, 99_000))).to.include({ operation: "INSERT", table: "t" });
  });

  const hostile: Readonly<Record<string, string>> = {
    "single quotes": "'",
    "double quotes": '"',
    "escaped quotes": "e'\\'",
    "backslashes and quotes": "\\'",
    "dollar signs": "$",
    "dollar tags": "$a",
    "open comments": "/*",
    "line comments": "--\n",
    parentheses: "(",
    digits: "1e-",
    words: "select ",
    "common table expressions": "with a as () ,",
    "qualified names": "a.",
    "white space": " ",
  };
  for (const [name, part] of Object.entries(hostile)) {
    it(`reads a megabyte of ${name} to its end`, () => {
      for (const start of ["", "select * from ", "select '"]) {
        const text = start + part.repeat(1_000_000 / part.length);
        let read = 0;
        for (const { end } of statementTokens(text)) read = end;
        expect(read).to.equal(text.length);
        describeStatement(text);
        redactStatement(text);
      }
    }).timeout(20_000);

    it(`reads ${name} in linear time: each of 10,000 characters at most ten times`, () => {
      const readers = [describeStatement, redactStatement, (text: string) => [...statementTokens(text)]];
      for (const start of ["", "select * from ", "select '"]) {
        for (const reader of readers) {
          const { text, read } = countedText(start + part.repeat(10_000 / part.length));
          reader(text);
          expect(read()).to.be.within(1, 10 * text.length);
        }
      }
    });
  }
});
