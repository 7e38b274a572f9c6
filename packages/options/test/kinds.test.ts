import {
  boolean,
  bytes,
  checkName,
  either,
  environmentKind,
  fetchKind,
  func,
  instanceOf,
  integer,
  isHttpOrigin,
  isServerUrl,
  type Kind,
  kinds,
  listOf,
  milliseconds,
  monotonicClock,
  number,
  objectWith,
  oneOf,
  optional,
  secret,
  string,
  wallClock,
  withDefault,
  wrongValue,
} from "@svc/options";
import { expect } from "chai";

/** For each kind: its `expects` text, values that it accepts, values that it refuses. */
const table: readonly (readonly [string, Kind<unknown>, readonly unknown[], readonly unknown[]])[] = [
  ["a whole number", integer(), [0, -5, 2 ** 53 - 1], [1.5, "1", Number.NaN, Infinity, 2 ** 53, 1n, null]],
  ["a whole number from 1 to 3", integer({ min: 1, max: 3 }), [1, 3], [0, 4]],
  ["a whole number of at least 1", integer({ min: 1 }), [1, 9e9], [0]],
  ["a number of at most 1", number({ max: 1 }), [-1e9, 0.5, 1], [1.01]],
  ["a number", number(), [0.5, -1], ["1", Number.NaN, Infinity, null]],
  ["true or false", boolean(), [true, false], [0, "true", null]],
  ["bytes", bytes(), [new Uint8Array(2), Buffer.from("a")], ["a", [1], new ArrayBuffer(2), null]],
  ["a non-empty string", string(), ["a", " "], ["", 1, null, ["a"]]],
  ["a string", string({ allowEmpty: true }), ["", "a"], [1]],
  ["a string that matches /^a/", string({ pattern: /^a/ }), ["ab"], ["ba", ""]],
  ["a slug", string({ pattern: /^[a-z]+$/, expects: "a slug" }), ["abc"], ["A"]],
  ['one of "a", 1, true', oneOf("a", 1, true), ["a", 1, true], ["b", "1", 2, false, null]],
  [
    "a list in which each entry is true or false",
    listOf(boolean()),
    [[], [true]],
    [[1], "true", { length: 0 }, Array(2)],
  ],
  ["a function", func(), [() => 1, class {}], [{}, "x", null]],
  [
    "a pool (an object with query())",
    objectWith<{ query(): void }>("a pool", "query"),
    [{ query: () => 1 }, Object.assign(() => 1, { query: () => 1 })],
    [{}, { query: 1 }, null, "query", undefined],
  ],
  ["a registry", objectWith<object>("a registry"), [{}, () => 1], [null, 1]],
  ["bytes", instanceOf(Uint8Array, "bytes"), [new Uint8Array(1), Buffer.alloc(1)], [[1], "a", null]],
  ["a number from 1 to 2147483647", milliseconds, [1, 2 ** 31 - 1], [0, 2 ** 31, "1"]],
  ["1 to 64 letters, digits or _ . : -", checkName, ["a", "9_.:-"], ["", "-a", "a b", "a".repeat(65)]],
  ["true or false, or a function", either(boolean(), func()), [true, () => 1], [0, {}]],
];

describe("kinds", () => {
  for (const [expects, kind, accepted, refused] of table) {
    it(`accept ${expects}, and nothing else`, () => {
      expect(kind.expects).to.equal(expects);
      for (const value of accepted) expect(kind.accepts(value), String(value)).to.equal(true);
      for (const value of refused) expect(kind.accepts(value), String(value)).to.equal(false);
    });
  }

  it("include isServerUrl(), which accepts only URLs with a host and an allowed path", () => {
    for (const url of ["nats://host:4222", "redis://u%20:p%3A@h", "tls://[::1]/"])
      expect(isServerUrl(url), url).to.equal(true);
    for (const url of ["nats://", "nats://%zz@h", "nats://h/0", "h:4222", "nats://h:99999"])
      expect(isServerUrl(url), url).to.equal(false);
    expect([isServerUrl("redis://h/0", /^\/\d$/), isServerUrl("redis://h", /^\/\d$/)]).to.eql([true, false]);
  });

  it("of a list never call the kind of its entries with undefined", () => {
    const strict: Kind<string> = {
      expects: "a word",
      accepts: (value): value is string => (value as string).length > 0,
    };
    expect(listOf(strict).accepts(["a", undefined])).to.equal(false);
    expect(listOf(strict).accepts(["a"])).to.equal(true);
  });

  it("include isHttpOrigin(), which rejects a path, a query, user-info, and a URL that the parser repairs", () => {
    for (const url of ["http://127.0.0.1:8010", "https://billing", "http://[::1]:80/"])
      expect(isHttpOrigin(url), url).to.equal(true);
    for (const url of [
      "http://h/a",
      "http://h?a",
      "http://h#",
      "http://u:p@h",
      "http:h:80",
      "http:\\\\h",
      "ftp://h",
      "http://h ",
    ])
      expect(isHttpOrigin(url), url).to.equal(false);
  });

  it("include defaults: clocks and fetch, which are looked up when used, and the environment prod", async () => {
    expect(wallClock.fallback()).to.be.closeTo(Date.now(), 1000);
    expect(monotonicClock.fallback()).to.be.closeTo(performance.now(), 1000);
    expect(environmentKind).to.include({
      fallback: "prod",
      expects: 'one of "local", "dev", "staging", "prod"',
    });
    const { fetch } = globalThis;
    try {
      globalThis.fetch = () => Promise.resolve(new Response("replaced"));
      expect(await (await fetchKind.fallback("http://127.0.0.1")).text()).to.equal("replaced");
    } finally {
      globalThis.fetch = fetch;
    }
  });

  it("name the methods that an object lacks, if it has some of them and its getters do not throw", () => {
    const logger = objectWith<{ warn(): void; info(): void; error(): void }>(
      "a logger",
      "info",
      "warn",
      "error",
    );
    const method = (): void => undefined;
    const text = "must be a logger (an object with info(), warn(), error()); it is an object";
    expect(wrongValue(logger, { info: method, error: 1 })).to.equal(`${text}; it has no warn(), error()`);
    expect(wrongValue(logger, {})).to.equal(text);
    expect(wrongValue(logger, null)).to.not.contain("it has no");
    const unreadable = {
      info: method,
      get error(): never {
        throw new Error("no");
      },
    };
    expect(wrongValue(logger, unreadable)).to.equal(text);
  });

  it("are all exported as members of `kinds`", () => {
    expect(kinds).to.include({ integer, milliseconds, optional, string, withDefault });
  });

  it("describe the values of a configuration file as JSON Schema", () => {
    const schemaOf = (kind: Kind<unknown>): unknown => JSON.parse(JSON.stringify(kind.schema ?? null));
    const port = { type: "integer", minimum: 0, maximum: 65_535 };
    expect(schemaOf(withDefault(integer({ min: 0, max: 65_535 }), 8000))).to.deep.equal(port);
    expect(schemaOf(number({ max: 1 }))).to.deep.equal({ type: "number", maximum: 1 });
    expect(schemaOf(optional(boolean()))).to.deep.equal({ type: "boolean" });
    expect(schemaOf(secret(string()))).to.deep.equal({ type: "string", minLength: 1 });
    expect(schemaOf(string({ allowEmpty: true }))).to.deep.equal({ type: "string" });
    expect(schemaOf(listOf(oneOf("a", 1)))).to.deep.equal({ type: "array", items: { enum: ["a", 1] } });
    expect(schemaOf(listOf(func()))).to.deep.equal({ type: "array" });
    expect(schemaOf(either(boolean(), number()))).to.deep.equal({
      anyOf: [{ type: "boolean" }, { type: "number" }],
    });
    expect([schemaOf(func()), schemaOf(either(func(), boolean()))]).to.deep.equal([null, null]);
  });

  it("omit a pattern from the JSON Schema if it uses flags or lookarounds that other engines lack", () => {
    const patternOf = (pattern: RegExp): unknown => string({ pattern }).schema?.["pattern"];
    expect(patternOf(/^rediss?:\/\//)).to.equal("^rediss?://");
    expect(patternOf(/^\P{C}{1,100}$/u)).to.equal("^\\P{C}{1,100}$");
    expect([/^a/i, /^(?=a)/, /^(?!a)/, /(?<=a)b/, /(?<!a)b/].map(patternOf)).to.deep.equal(
      Array(5).fill(undefined),
    );
  });

  it("give the same result on every call, even for a pattern with the flag g", () => {
    const kind = string({ pattern: /a/g });
    expect([kind.accepts("a"), kind.accepts("a"), kind.accepts("a")]).to.deep.equal([true, true, true]);
  });

  it("are secret when one of their inner kinds is secret", () => {
    for (const kind of [
      secret(string()),
      listOf(secret(string())),
      either(boolean(), secret(string())),
      either(secret(string()), boolean()),
    ]) {
      expect(wrongValue(kind, "hunter2")).to.not.contain("hunter2");
    }
    expect(wrongValue(listOf(boolean()), ["shown"])).to.contain("shown");
  });
});
