import { expect } from "chai";
import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";
import { redactStatement } from "../src/sql/redact-statement.ts";

// A fixed seed generates the same statements in every run, so that failures are reproducible.
const settings = { seed: 20_261_127, numRuns: 3000 } as const;

describe("redactStatement()", () => {
  const cases: readonly (readonly [name: string, text: string, redacted: string])[] = [
    ["a string", "select * from t where a = 'x' and b = 2", "select * from t where a = ? and b = ?"],
    ["a doubled quote", "select 'it''s', a", "select ?, a"],
    ["an empty string", "select '', a", "select ?, a"],
    ["a string with escapes", String.raw`select E'a\'b''c\\', a`, "select ?, a"],
    ["a string after an identifier that ends with e", "select date'2026-01-01', a", "select date?, a"],
    ["bit strings and hexadecimal strings", "select B'101', x'1F', N'ä', a", "select ?, ?, ?, a"],
    ["a Unicode string", String.raw`select U&'\0061', a`, "select U&?, a"],
    ["a dollar-quoted string", "select $$it's$$, $a$ $b$ x $b$ $$ $a$, a", "select ?, ?, a"],
    ["numbers", "select 1, 2.5, .5, 1e-3, 0xff, 1_000, -7, t1.a2", "select ?, ?, ?, ?, ?, ?, -?, t1.a2"],
    ["a malformed number", "select 12abc-34", "select ?-?"],
    ["comments", "select a -- secret\n, b /* x /* y */ z */ from/**/t", "select a , b from t"],
    ["white space", "\n select  a,\r\n\tb ", "select a, b"],
    ["parameters and casts", "select $1::int, $12::text[]", "select $1::int, $12::text[]"],
    [
      "quoted identifiers",
      `select "it's  -- a ""1""" from "A"."b"`,
      `select "it's  -- a ""1""" from "A"."b"`,
    ],
    ["dollar signs in identifiers", "select a$b$c, d$e$ from t", "select a$b$c, d$e$ from t"],
    ["JSON operators", "select a -> 'k' ? 'x', a #>> '{b}'", "select a -> ? ? ?, a #>> ?"],
  ];
  for (const [name, text, redacted] of cases) {
    it(`redacts a statement with ${name}`, () => expect(redactStatement(text)).to.equal(redacted));
  }

  const unended = [
    "select a, 'secret",
    "select a, e'secret\\'",
    "select a, $$secret",
    "select a, $a$secret$$ $b$",
    'select a, "secret',
    "select a, 1$$secret$$",
    // The string ends at the second quote or at the third one, depending on a setting of the server.
    String.raw`select a, 'x\' secret '`,
  ];
  for (const text of unended) {
    it(`replaces an unterminated literal and the rest of ${text}`, () =>
      expect(redactStatement(text)).to.equal("select a, ?"));
  }

  it("drops an unterminated comment", () =>
    expect(redactStatement("select a /* /* */ secret")).to.equal("select a"));

  it("truncates the text to 256 characters without splitting one (TRACE-26)", () => {
    const redacted = redactStatement(`select a${"😀".repeat(300)}`);
    expect(Array.from(redacted)).to.have.length(256);
    expect(redacted.isWellFormed()).to.equal(true);
  });

  it("omits a quoted identifier that does not fit into 256 characters", () => {
    expect(redactStatement(`select "${"a".repeat(300)}" from t`)).to.equal("select");
  });

  const literals = fc.oneof(
    fc.string().map((text) => `'${text.replaceAll("'", "''")}'`),
    fc.string().map((text) => `E'${text.replaceAll(/['\\]/g, (each) => `\\${each}`)}'`),
    fc.string().map((text) => `$tag$${text.replaceAll("$", "")}$tag$`),
    fc.nat().map((number) => `9${number}.${number}e-1`),
    fc.stringMatching(/^[01]{0,8}$/).map((bits) => `B'${bits}'`),
  );
  const kept = fc.oneof(
    fc.stringMatching(/^[a-z_][a-z0-9_$]{0,8}$/),
    fc.string({ unit: anyCharacter, minLength: 1 }).map((text) => `"${text.replaceAll('"', '""')}"`),
    fc.nat(99).map((number) => `$${number}`),
    fc.constantFrom("(", ")", ",", ";", "::", "=", "-", "/", "*", "?", "U&", "."),
  );
  const gaps = fc.oneof(
    fc.constantFrom(" ", "\n", "\t "),
    fc.string().map((text) => `--${text.replaceAll(/[\r\n]/g, "")}\n`),
    fc.string().map((text) => `/*${text.replaceAll(/[*/]/g, "")}*/`),
  );

  it("removes every part of literals and comments (TRACE-15)", () => {
    const marked = fc.constantFrom(
      "'MARK'",
      "'a''MARK'",
      String.raw`E'\'MARK'`,
      String.raw`'\MARK\'`,
      "$$MARK$$",
      "$a$ 'MARK $a$",
      "/* MARK */",
      "/* /* */ MARK */",
      "-- MARK\n",
      "7MARK",
    );
    const last = fc.constantFrom("'MARK", "E'\\'MARK", '"MARK', "$b$MARK $b", "/* /* MARK */", "--MARK", "");
    const texts = fc.array(fc.oneof(literals, kept, gaps, marked), { maxLength: 20 });
    fc.assert(
      fc.property(texts, last, (parts, end) => {
        expect(redactStatement([...parts, end].join(" "))).to.not.contain("MARK");
      }),
      settings,
    );
  });

  it("keeps the parts between literals and comments", () => {
    const replaced = literals.map((text) => [text, "?"]);
    const unchanged = kept.map((text) => [text, text]);
    const parts = fc.array(fc.oneof(replaced, unchanged), { maxLength: 12 });
    fc.assert(
      fc.property(parts, gaps, (each, gap) => {
        const expected = each.map(([, redacted]) => redacted).join(" ");
        fc.pre(Array.from(expected).length <= 256 && !each.some(([text = ""]) => /^'.*\\'/s.test(text)));
        expect(redactStatement(each.map(([text]) => text).join(` ${gap} `))).to.equal(expected);
      }),
      settings,
    );
  });

  it("leaves redacted text unchanged", () => {
    const parts = fc.array(fc.oneof(literals, kept, gaps, fc.string({ unit: anyCharacter })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(parts, (each) => {
        const redacted = redactStatement(each.join(""));
        expect(redactStatement(redacted)).to.equal(redacted);
      }),
      settings,
    );
  });
});
