import { expect } from "chai";
import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";
import { allowedAttributes, cutText } from "../src/attributes.ts";
import { openTracing } from "./support/exporting.ts";

const known = ["http.route", "jfast.tenant_id", "db.rows_affected", "rag.hits", "llm.usd", "storage.bytes"];
const unknown = ["url.path", "db.sql", "prompt", "user.email", "__proto__", "constructor", "http.route ", ""];

const names = fc.oneof(fc.constantFrom(...known), fc.constantFrom(...unknown), fc.string());
const values = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 600 }),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, undefined, null, Symbol("s"), () => "text"),
  fc.double(),
  fc.boolean(),
  fc.bigInt(),
  fc.object({ maxDepth: 1 }),
  fc.array(fc.string()),
  fc.date(),
);

/** Texts whose 256th character may be half of a surrogate pair. */
const textsWithPairs = fc
  .tuple(fc.integer({ min: 240, max: 260 }), fc.array(fc.constantFrom("\u{1f600}", "\ud83d", "\ude00", "x")))
  .map(([length, rest]) => "a".repeat(length) + rest.join(""));

describe("the attributes of spans", () => {
  it("TRACE-15 TRACE-26 are limited to known names with strings, finite numbers and booleans", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(names, values)), (entries) => {
        const given: Record<string, unknown> = Object.fromEntries(entries);
        let dropped = 0;
        const allowed = allowedAttributes(given, (count) => (dropped += count));
        expect(Object.keys(allowed).length + dropped).to.equal(Object.keys(given).length);
        for (const [name, value] of Object.entries(allowed)) {
          expect(known).to.include(name);
          if (typeof value === "string") expect(value).to.equal(cutText(given[name] as string));
          else expect(value).to.equal(given[name]);
          expect(typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)).to.equal(
            true,
          );
        }
      }),
    );
  });

  it("TRACE-26 are truncated to 256 characters, never within a surrogate pair", () => {
    fc.assert(
      fc.property(textsWithPairs, (text) => {
        const cut = cutText(text);
        expect(cut.length).to.be.at.most(256);
        expect(cut.isWellFormed()).to.equal(true);
        expect(cut.length).to.be.at.least(Math.min(text.length, 255));
        if (text.length <= 256 && text.isWellFormed()) expect(cut).to.equal(text);
      }),
    );
    expect(cutText(`${"a".repeat(255)}\u{1f600}`)).to.equal("a".repeat(255));
    expect(cutText(`${"a".repeat(254)}\u{1f600}x`)).to.equal(`${"a".repeat(254)}\u{1f600}`);
  });

  it("TRACE-26 cause one call of onDropped with the number of dropped ones, or no call if none is dropped", () => {
    const counts: number[] = [];
    const onDropped = (count: number): void => void counts.push(count);
    expect(allowedAttributes({ "http.route": "/a" }, onDropped)).to.deep.equal({ "http.route": "/a" });
    expect(allowedAttributes({ a: 1, b: 2, "rag.hits": Number.NaN }, onDropped)).to.deep.equal({});
    expect(counts).to.deep.equal([3]);
  });

  it("TRACE-15 TRACE-26 are dropped and counted in readiness when they are not allowed", async () => {
    await using tracing = await openTracing({ exporter: "memory" });
    const given = { "messaging.message.id": "m".repeat(300), prompt: "a secret" };
    tracing.span("job mail.send", "consumer", given, (span) => {
      span.set({ "svc.job.attempts": 1, answer: "a secret", "rag.hits": Number.NaN });
    });
    expect(tracing.spans().map(({ attributes }) => attributes)).to.deep.equal([
      { "messaging.message.id": "m".repeat(256), "svc.job.attempts": 1 },
    ]);
    const { meta } = await tracing.readiness().check(new AbortController().signal);
    expect(meta).to.include({ attributes_dropped: 3, failures: 0 });
  });
});
