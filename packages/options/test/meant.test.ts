import { optional, resolveOptions, string, unknownOption } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";

const suggests = (name: string, ...known: string[]): string | undefined =>
  /did you mean (.*)\?$/.exec(unknownOption(name, known))?.[1];

describe("unknownOption() with an unknown name", () => {
  for (const [what, name, known, expected] of [
    [
      "lacks the unit",
      "visibilityTimeout",
      ["visibilityTimeoutSeconds", "table"],
      "visibilityTimeoutSeconds",
    ],
    ["lacks the unit and is short", "delay", ["relay", "delaySeconds"], "delaySeconds"],
    ["has another unit", "drainDelayMs", ["name", "drainDelaySeconds"], "drainDelaySeconds"],
    ["has a unit too many", "pollIntervalMs", ["pollInterval", "max"], "pollInterval"],
    [
      "lacks the unit and is misspelt",
      "visibilityTimeot",
      ["visibilityTimeoutSeconds"],
      "visibilityTimeoutSeconds",
    ],
    ["is a key of a file", "visibility_timeout_ms", ["visibility_timeout", "table"], "visibility_timeout"],
    ["lacks the unit, which two names have", "delay", ["delayMs", "delayMinutes"], "delayMs or delayMinutes"],
    ["has a synonym", "deadlineMs", ["timeoutMs", "table"], "timeoutMs"],
    ["has a synonym and another unit", "limitKb", ["maxBytes", "table"], "maxBytes"],
    ["has a synonym in the middle", "connectionTimeoutMillis", ["connectTimeoutMs"], "connectTimeoutMs"],
    ["is the end of a name", "timeout", ["commandTimeoutMs", "table"], "commandTimeoutMs"],
    ["is the start of a name", "drain", ["drainDelaySeconds", "table"], "drainDelaySeconds"],
    [
      "is a part of three names",
      "timeout",
      ["fillTimeoutMs", "readTimeoutMs", "stopTimeout"],
      "fillTimeoutMs, readTimeoutMs or stopTimeout",
    ],
    [
      "is a part of four names",
      "timeout",
      ["fillTimeout", "readTimeout", "stopTimeout", "openTimeout"],
      undefined,
    ],
    ["ends in a name", "redisUrl", ["url", "name"], "url"],
    ["begins with a name", "urlRewriter", ["url", "name"], undefined],
    ["has another meaning by a word", "noAuth", ["auth", "name"], undefined],
    ["has another meaning by a word", "disableAuth", ["auth", "name"], undefined],
    ["has another meaning by a word", "skipIssuer", ["issuer", "secret"], undefined],
    ["has another meaning by a word", "anyAudience", ["audience"], undefined],
    ["has another meaning by a word", "previousSecret", ["secret"], undefined],
    ["has another meaning by a word", "privateKey", ["key"], undefined],
    ["lacks a word with which the name has another meaning", "verify", ["skipVerify"], undefined],
    ["has such a word as the name has it", "publicPaht", ["publicPath", "path"], "publicPath"],
    ["has such a word in another form", "allowOrigins", ["allowedOrigins", "origins"], "allowedOrigins"],
    ["has such a word in a word", "nostore", ["noStore", "name"], "noStore"],
    ["is a count, and the name is a time", "attempts", ["retryMs", "group"], undefined],
    ["is a count, and the name is a time", "retries", ["retryMs", "group"], undefined],
    ["is a count", "retries", ["retryMs", "maxAttempts"], "maxAttempts"],
    ["is a time", "retryMs", ["retryDelayMs", "group"], "retryDelayMs"],
    ["is a key for something else", "secretKey", ["key", "limit"], undefined],
    ["is a key for something else", "signingKey", ["key", "limit"], undefined],
    ["is a URL for something else", "jwksUri", ["url", "name"], undefined],
    ["is a URL for something else", "redirectUri", ["url", "name"], undefined],
    ["is a URL with a purpose", "jwksUri", ["url", "jwksUrl"], "jwksUrl"],
    ["is only a unit", "seconds", ["delaySeconds", "table"], undefined],
    ["has no letters", "--", ["delaySeconds"], undefined],
    ["is empty", "", ["delaySeconds"], undefined],
  ] as const) {
    it(`suggests ${expected ?? "no name"} if it ${what}: ${name || "(empty)"}`, () => {
      expect(suggests(name, ...known)).to.equal(expected);
    });
  }

  it("suggests an option that already has a value only for a misspelling of its name", () => {
    const options = { url: optional(string()), name: string() };
    expect(() => resolveOptions("createX()", { url: "a", name: "b", redisUrl: "c" }, options)).to.throw(
      "redisUrl: is unknown; expected one of url, name",
    );
    expect(() => resolveOptions("createX()", { url: "a", name: "b", urll: "c" }, options)).to.throw(
      "urll: is unknown; did you mean url?",
    );
    for (const url of [undefined, 7]) {
      expect(() => resolveOptions("createX()", { url, name: "b", redisUrl: "c" }, options)).to.throw(
        "redisUrl: is unknown; did you mean url?",
      );
    }
  });

  it("prefers the most similar one of the names with the same words", () => {
    expect(suggests("limitByte", "limitBytes", "limit")).to.equal("limitBytes");
  });

  it("ignores names of more than 100 characters", () => {
    const long = "delaySeconds".repeat(100_000);
    expect(suggests(long, "delaySeconds")).to.equal(undefined);
    expect(suggests("delay", long)).to.equal(undefined);
  });

  it("returns one line that contains a known name, for any names", () => {
    const names = fc.array(fc.string({ minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), names, (name, known) => {
        expect(known.some((each) => unknownOption(name, known).includes(each))).to.equal(true);
      }),
    );
  });
});
