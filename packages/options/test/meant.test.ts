import { unknownOption } from "@svc/options";
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
    ["is only a unit", "seconds", ["delaySeconds", "table"], undefined],
    ["has no letters", "--", ["delaySeconds"], undefined],
    ["is empty", "", ["delaySeconds"], undefined],
  ] as const) {
    it(`suggests ${expected ?? "no name"} if it ${what}: ${name || "(empty)"}`, () => {
      expect(suggests(name, ...known)).to.equal(expected);
    });
  }

  it("prefers the most similar one of the names with the same words", () => {
    expect(suggests("limitByte", "limitBytes", "limit")).to.equal("limitBytes");
  });

  it("compares no names of more than 100 characters", () => {
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
