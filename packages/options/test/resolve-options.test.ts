import {
  boolean,
  ConfigurationError,
  either,
  func,
  integer,
  type Kinds,
  listOf,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";

const kinds = {
  limitBytes: withDefault(integer({ min: 1 }), 2_097_152),
  strict: withDefault(boolean(), true),
  onEvent: optional(func<() => void>()),
};

function faultsOf(given: unknown, of: Kinds = kinds, subject = "jsonBody()"): readonly string[] {
  try {
    resolveOptions(subject, given as object, of);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return [];
}

describe("resolveOptions", () => {
  it("fills in the defaults, so that every option is present", () => {
    const defaults = { limitBytes: 2_097_152, strict: true, onEvent: undefined };
    expect(resolveOptions("jsonBody()", undefined, kinds)).to.deep.equal(defaults);
    expect(resolveOptions("jsonBody()", {}, kinds)).to.deep.equal(defaults);
    expect(resolveOptions("jsonBody()", { strict: undefined }, kinds)).to.deep.equal(defaults);
    expect(resolveOptions("jsonBody()", Object.create(null) as object, kinds)).to.deep.equal(defaults);
  });

  it("returns the given values in a new frozen object", () => {
    const given = { limitBytes: 5, strict: false };
    const resolved = resolveOptions("jsonBody()", given, kinds);
    expect(resolved).to.deep.equal({ limitBytes: 5, strict: false, onEvent: undefined });
    expect(resolved).to.not.equal(given);
    expect(Object.isFrozen(resolved)).to.equal(true);
    expect(given).to.deep.equal({ limitBytes: 5, strict: false });
  });

  it("lists every fault in one error with a code", () => {
    try {
      resolveOptions("jsonBody()", { limitByte: 5, strict: "yes", onEvent: 1 }, kinds);
      expect.fail("nothing was thrown");
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(error).to.include({ name: "ConfigurationError", code: "ERR_SVC_CONFIGURATION" });
      expect((error as Error).message).to.equal(
        [
          "jsonBody() is configured wrongly (3 faults):",
          "  - limitByte: is unknown; did you mean limitBytes?",
          '  - strict: must be true or false; it is "yes"',
          "  - onEvent: must be a function; it is 1",
        ].join("\n"),
      );
    }
  });

  it("suggests the option that has a member with the unknown name", () => {
    const queue = optional({
      ...objectWith<object>("an object { tasks }"),
      members: ["tasks", "limitBytes"],
    });
    const config = optional(either(string(), { ...objectWith<object>("{ toml }"), members: ["toml"] }));
    expect(faultsOf({ tasks: {}, toml: "" }, { limitBytes: kinds.limitBytes, queue, config })).to.deep.equal([
      "tasks: is unknown; did you mean queue.tasks?",
      "toml: is unknown; did you mean config.toml?",
    ]);
    expect(faultsOf({ limitBytes: 1, queue: {} }, { limitBytes: kinds.limitBytes, queue })).to.deep.equal([]);
  });

  it("lists the known names when none is similar, and says when no names are allowed", () => {
    expect(faultsOf({ zebra: 1 })).to.deep.equal([
      "zebra: is unknown; expected one of limitBytes, strict, onEvent",
    ]);
    expect(faultsOf({ zebra: 1 }, {})).to.deep.equal(["zebra: is unknown; no names are allowed"]);
  });

  it("names a required option that is missing", () => {
    const required = { service: string() };
    expect(faultsOf({}, required)).to.deep.equal(["service: is required and must be a non-empty string"]);
    expect(faultsOf(undefined, required)).to.have.lengthOf(1);
    expect(faultsOf({ service: undefined }, required)).to.have.lengthOf(1);
    expect(faultsOf({ service: null }, required)).to.deep.equal([
      "service: must be a non-empty string; it is null",
    ]);
  });

  it("hides a secret, even inside a list or as one of two kinds", () => {
    const hidden = {
      key: secret(string({ pattern: /^\d+$/ })),
      keys: listOf(secret(string({ pattern: /^\d+$/ }))),
      other: optional(secret(integer())),
      late: secret(withDefault(integer(), 1)),
    };
    const faults = faultsOf({ key: "hunter2", keys: ["hunter2"], other: "hunter2", late: "hunter2" }, hidden);
    expect(faults).to.have.lengthOf(4);
    for (const fault of faults) expect(fault).to.match(/ \(the value is not shown\)$/);
    expect(resolveOptions("x()", { key: "1", keys: [] }, hidden).late).to.equal(1);
  });

  it("shows only the class of an object, because a member may be a secret", () => {
    class Pool {
      password = "hunter2";
    }
    const faults = (strict: unknown): readonly string[] => faultsOf({ strict });
    expect(faults({ password: "hunter2" })).to.deep.equal(["strict: must be true or false; it is an object"]);
    expect(faults(new Pool())).to.deep.equal(["strict: must be true or false; it is an object (Pool)"]);
    expect(faults([{ password: "hunter2" }, 1])).to.deep.equal([
      "strict: must be true or false; it is [an object, 1]",
    ]);
    expect(faults(() => "hunter2")).to.deep.equal(["strict: must be true or false; it is a function"]);
  });

  it("masks the credentials in a URL", () => {
    expect(faultsOf({ strict: "postgres://me:hunter2@db/app" })).to.deep.equal([
      'strict: must be true or false; it is "postgres://***@db/app"',
    ]);
    for (const password of ["p@ss/word?#", "p".repeat(1000)]) {
      expect(faultsOf({ strict: `postgres://me:${password}@db/app` })).to.deep.equal([
        'strict: must be true or false; it is "postgres://***@db/app"',
      ]);
    }
  });

  it("shows any value in one short line", () => {
    const hostile = [
      Number.NaN,
      -Infinity,
      10n,
      Symbol("s\n"),
      null,
      "x".repeat(1_000_000),
      "a\nb\u001b[31m\u2028",
      Array.from({ length: 1_000_000 }, () => "x"),
      Object.create(null),
      Object.create({ constructor: "no function" }),
      Object.assign(Object.create({ constructor: { name: "a\nb" } }) as object, {}),
    ];
    for (const strict of hostile) {
      const [fault = ""] = faultsOf({ strict });
      expect(fault).to.match(/^strict: must be true or false; it is \P{Cc}{1,120}$/u);
      expect(fault).to.not.contain("\u2028");
    }
    expect(faultsOf({ strict: Number.NaN })[0]).to.contain("it is NaN");
    expect(faultsOf({ strict: [1, "a", null, [2]] })[0]).to.contain('it is [1, "a", null, a list]');
    expect(faultsOf({ strict: Array.from({ length: 11 }, () => 0) })[0]).to.contain("0, ... 11 in all]");
  });

  it("writes one line per fault, even for names with line breaks", () => {
    try {
      resolveOptions("x()", { "a\n  - b": 1, [`__proto__${"\u2028"}`]: 1 }, {});
      expect.fail("nothing was thrown");
    } catch (error) {
      expect((error as Error).message.split("\n")).to.have.lengthOf(3);
      expect((error as Error).message).to.contain(String.raw`a\u000a  - b: is unknown`);
    }
  });

  it("rejects names such as __proto__ like any unknown name, and changes no prototype", () => {
    for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
      const given = JSON.parse(`{"${name}": {"polluted": true}}`) as object;
      expect(faultsOf(given)).to.have.lengthOf(1);
      expect(faultsOf(given)[0]).to.match(/^\w+: is unknown/);
    }
    expect({}).to.not.have.property("polluted");
  });

  it("ignores members of a polluted Object.prototype", () => {
    const prototype = Object.prototype as { strict?: unknown };
    prototype.strict = false;
    try {
      expect(resolveOptions("jsonBody()", {}, kinds).strict).to.equal(true);
    } finally {
      delete prototype.strict;
    }
  });

  it("reads the members of a class instance, even inherited ones, and of a module", async () => {
    class Base {
      get limitBytes(): number {
        return 7;
      }
    }
    class Settings extends Base {
      strict = false;
    }
    expect(resolveOptions("jsonBody()", new Settings(), kinds)).to.include({ limitBytes: 7, strict: false });
    const address: string = "data:text/javascript,export const strict = false";
    const module = (await import(address)) as object;
    expect(resolveOptions("jsonBody()", module, kinds).strict).to.equal(false);
  });

  it("reports a getter that throws, without its error message", () => {
    const given = {
      get strict(): boolean {
        throw new RangeError("hunter2");
      },
      limitBytes: -1,
    };
    expect(faultsOf(given)).to.deep.equal([
      "limitBytes: must be a whole number of at least 1; it is -1",
      "strict: cannot be read: RangeError",
    ]);
  });

  it("names the missing call when the factory itself is passed to app.use", () => {
    expect(faultsOf({ headers: {}, method: "GET", socket: {} }, kinds, "requestId()")).to.deep.equal([
      "options: is a request; write app.use(requestId()), with parentheses",
    ]);
  });

  it("refuses a value that is not an options object, without showing it", () => {
    for (const [given, message] of [
      [null, "must be an object; it is null"],
      ["hunter2", "must be an object; it is a string"],
      [5, "must be an object; it is a number"],
      [() => undefined, "must be an object; it is a function"],
      [[], "must be an object; it is a list"],
      [new Map([["strict", false]]), "must be an object; it is an object (Map)"],
      [new Date(), "must be an object; it is an object (Date)"],
      [Promise.resolve({}), "is a promise: await it first"],
    ] as const) {
      expect(faultsOf(given)).to.deep.equal([`options: ${message}`]);
    }
  });

  it("resolves any object or throws a ConfigurationError with one line per fault", () => {
    const any = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("strict", "limitBytes")), fc.anything());
    fc.assert(
      fc.property(any, (given) => {
        try {
          const resolved = resolveOptions("jsonBody()", given, kinds);
          expect(Object.keys(resolved)).to.deep.equal(Object.keys(kinds));
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error;
          expect(error.message.split(/[\n\r\u2028\u2029]/u)).to.have.lengthOf(error.faults.length + 1);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("infers the type of the resolved options", () => {
    const resolved = resolveOptions(
      "x()",
      { name: "a" },
      {
        name: string(),
        mode: withDefault(oneOf("a", "b"), "a"),
        log: optional(func<(line: string) => void>()),
      },
    );
    const typed: {
      readonly name: string;
      readonly mode: "a" | "b";
      readonly log: ((line: string) => void) | undefined;
    } = resolved;
    expect(typed).to.deep.equal({ name: "a", mode: "a", log: undefined });
  });
});
