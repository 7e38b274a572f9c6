import { createSearchStore } from "@svc/search-store";
import { expect } from "chai";
import { refusal } from "./support/refusal.ts";

const nested = (depth: number): unknown =>
  depth === 0 ? { a: 1 } : depth % 2 === 0 ? { not: nested(depth - 1) } : { and: [nested(depth - 1)] };

const REFUSED: readonly (readonly [title: string, filter: unknown, says: RegExp])[] = [
  ["text", "kind = 'x'", /^filter must be an object/],
  ["a list", [], /^filter must be an object/],
  ["null", null, /^filter must be an object/],
  ["a date as a value", { at: new Date(0) }, /^filter\.at must be a string/],
  ["a list as a value", { kind: ["a"] }, /^filter\.kind must be a string/],
  ["a function", { kind: () => 1 }, /^filter\.kind must be/],
  ["NaN", { price: Number.NaN }, /^filter\.price must be/],
  ["infinity", { price: { lt: Infinity } }, /^filter\.price\.lt must be/],
  ["an unknown operator", { price: { $gt: 5 } }, /^filter\.price\["\$gt"\] is not an operator/],
  ["a misspelt operator", { price: { gtt: 5 } }, /^filter\.price\.gtt is not an operator; did you mean gt/],
  [
    "an operator inherited from Object.prototype",
    { price: { constructor: 5 } },
    /^filter\.price\.constructor is not an operator/,
  ],
  ["no operator", { price: {} }, /^filter\.price must have an operator/],
  ["a range of booleans", { paid: { gt: true } }, /^filter\.paid\.gt must be a string or a finite number/],
  ["in without a list", { kind: { in: "a" } }, /^filter\.kind\.in must be a list/],
  ["a list in a list", { kind: { in: ["a", ["b"]] } }, /^filter\.kind\.in\[1\] must be a string/],
  ["a hole in a list", { kind: { in: Array(2) } }, /^filter\.kind\.in\[0\] must be a string/],
  ["a hole in and", { and: Array(3) }, /^filter\.and\[0\] must be an object/],
  ["exists with a string", { kind: { exists: "yes" } }, /^filter\.kind\.exists must be true or false/],
  ["and without a list", { and: { a: 1 } }, /^filter\.and must be a list of filters/],
  ["not with a list", { not: [{ a: 1 }] }, /^filter\.not must be an object/],
  [
    "a fault in a nested filter",
    { and: [{ a: 1 }, { or: [{ not: { "a b": { x: 1 } } }] }] },
    /^filter\.and\[1\]\.or\[0\]\.not\["a b"\]\.x is no/,
  ],
  ["NUL in a key", { "a\0b": 1 }, /must not contain NUL/],
  ["NUL in a string", { a: "\0" }, /^filter\.a must not contain NUL/],
  [
    "an unpaired surrogate",
    { a: { eq: "\ud800" } },
    /^filter\.a\.eq must not contain NUL or an unpaired surrogate/,
  ],
  [
    "a key that exceeds its limit",
    { ["k".repeat(257)]: 1 },
    /^filter\["k{60}\.\.\."\] has a key of more than 256 bytes/,
  ],
  ["a string that is too long", { a: "x".repeat(8193) }, /^filter\.a has more than 8192 bytes/],
  ["a filter that is nested too deeply", nested(9), /is nested deeper than 8 levels$/],
  ["a filter that is nested far too deeply", nested(5000), /is nested deeper than 8 levels$/],
  [
    "too many conditions",
    Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, 1])),
    /^filter\.k100 exceeds the limit of 100 conditions/,
  ],
  [
    "too many empty conditions",
    { or: Array.from({ length: 101 }, () => ({})) },
    /^filter\.or exceeds the limit of 100 conditions/,
  ],
  [
    "too many listed values",
    { a: { in: Array(600).fill(1) }, b: { in: Array(401).fill(1) } },
    /^filter\.b\.in exceeds the limit of 1000 listed/,
  ],
];

describe("an invalid filter", () => {
  const queries: string[] = [];
  const store = createSearchStore({
    db: { query: (text: string) => Promise.reject(new Error(`sent: ${queries.push(text)}`)) },
    dimensions: 3,
  });

  for (const [title, filter, says] of REFUSED) {
    it(`SEARCH-1 is rejected before anything is sent, with the position of the fault: ${title}`, async () => {
      const error = await refusal(() => store.search("a", { vector: [1, 0, 0], filter: filter as never }));
      expect(error.code).to.equal("ERR_SVC_SEARCH_FILTER");
      expect(error.message).to.match(says);
      expect(error.message.length).to.be.below(400);
      expect(queries).to.deep.equal([]);
    });
  }

  it("SEARCH-1 is rejected with an error without its values, which may be confidential", async () => {
    const error = await refusal(() =>
      store.search("a", { vector: [1, 0, 0], filter: { a: { eq: ["secret"] as never } } }),
    );
    expect(error.message).not.to.contain("secret");
  });
});
