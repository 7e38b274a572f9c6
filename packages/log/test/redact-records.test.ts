import { createLogger } from "@svc/log";
import { expect } from "chai";
import fc from "fast-check";
import { lines, repeatedNames } from "./support/lines.ts";
import { canary, fields, JsonText, text } from "./support/records.ts";

const reserved = ["level", "time", "service", "env", "version", "message"];

/** Returns the expected record, in which a field with a reserved name has a trailing `_`. */
function onTheLine(expected: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(expected).map(([name, value]) => [reserved.includes(name) ? `${name}_` : name, value]),
  );
}

/**
 * Fails unless a parsed value equals the expected one. Compares before it calls chai, because an assertion for each of the
 * million values takes longer than the records themselves.
 */
function expectValue(actual: unknown, expected: unknown, path: string): void {
  if (expected instanceof JsonText) expectValue(JSON.parse(String(actual)), expected.value, `${path}()`);
  else if (typeof expected === "object" && expected !== null) {
    const [names, expectedNames] = [Object.keys(Object(actual)), Object.keys(expected)];
    const isSame =
      names.length === expectedNames.length && names.every((name, i) => name === expectedNames[i]);
    if (!isSame) expect(names, path).to.deep.equal(expectedNames);
    if (Array.isArray(actual) !== Array.isArray(expected)) {
      expect(Array.isArray(actual), path).to.equal(Array.isArray(expected));
    }
    for (const [name, value] of Object.entries(expected)) {
      expectValue((actual as Record<string, unknown>)[name], value, `${path}.${name}`);
    }
  } else if (actual !== expected) expect(actual, path).to.equal(expected);
}

describe("redaction of generated records", () => {
  it("writes each of 10,000 records as one object with every member once and no secret (LOG-1, LOG-2)", () => {
    let records = 0;
    fc.assert(
      fc.property(fields, text, text, (given, message, bound) => {
        const out = lines();
        const logger = createLogger({ service: "shop", env: "local", version: "1", destination: out });
        logger.child({ bound: bound.given }).warn(given.given as object, message.given as string);
        const [record, ...others] = out.records();
        expect(others).to.deep.equal([]);
        const { level, time, ...rest } = record ?? {};
        expect(level).to.equal("warn");
        expect(time).to.match(/^\d{4}-/);
        expect(repeatedNames(out.text)).to.deep.equal([]);
        expect(out.text).not.to.contain(canary);
        expectValue(
          sorted(rest),
          sorted({
            service: "shop",
            env: "local",
            version: "1",
            bound: bound.expected,
            ...onTheLine(given.expected as object),
            message: message.expected,
          }),
          "",
        );
        records++;
      }),
      { numRuns: 10_000 },
    );
    expect(records).to.equal(10_000);
  }).timeout(120_000);

  it("redacts secrets in the strings of errors and keeps the errors' other members (LOG-1)", () => {
    fc.assert(
      fc.property(text, text, text, fields, (first, second, code, detail) => {
        const out = lines();
        const cause = new Error(String(second.given));
        const error = Object.assign(new TypeError(String(first.given), { cause }), {
          code: code.given,
          detail,
        });
        const logger = createLogger({ service: "shop", env: "local", destination: out });
        logger.error({ err: error, at: "authorization" });
        const [record] = out.records() as { err: Record<string, unknown>; at: string; message: unknown }[];
        expect(repeatedNames(out.text)).to.deep.equal([]);
        expect(out.text).not.to.contain(canary);
        expect(Object.keys(record?.err ?? {})).to.deep.equal(["type", "message", "code", "stack"]);
        expect(record).to.deep.include({ at: "authorization", message: first.expected });
        expect(record?.err).to.include({ type: "TypeError", message: first.expected, code: code.expected });
      }),
      { numRuns: 2000 },
    );
  }).timeout(60_000);

  it("keeps the digits of large integers (LOG-1)", () => {
    const out = lines();
    createLogger({ service: "shop", env: "local", destination: out }).info(
      { id: 12345678901234567890n, password: 12345678901234567890n, list: ["token", 2n ** 70n] },
      "m",
    );
    expect(out.text).to.contain(
      '"id":12345678901234567890,"password":"[redacted]","list":["token",1180591620717411303424]',
    );
  });
});

function sorted(record: object): object {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
