import { testDatabase } from "@svc/dev-services";
import { identifier, IdentifierError, qualified } from "@svc/sql";
import { expect } from "chai";
import fc from "fast-check";
import { connections } from "./support/connections.ts";

describe("identifier", () => {
  const database = testDatabase({ name: "identifier" });
  const { client, end } = connections(() => database.url);
  after(end);

  it("quotes a name and doubles the quotes in it", () => {
    expect(identifier("jobs")).to.equal('"jobs"');
    expect(identifier("Jobs")).to.equal('"Jobs"');
    expect(identifier('a"; drop table jobs; --')).to.equal('"a""; drop table jobs; --"');
    expect(identifier("with.dot")).to.equal('"with.dot"');
  });

  it("accepts 63 bytes and rejects 64, counted in UTF-8", () => {
    expect(identifier("a".repeat(63))).to.have.lengthOf(65);
    expect(identifier("é".repeat(31))).to.have.lengthOf(33);
    expect(() => identifier("é".repeat(32))).to.throw(
      IdentifierError,
      "it has 64 bytes; at most 63 are allowed",
    );
  });

  it("rejects names that PostgreSQL does not allow", () => {
    for (const [name, message] of [
      ["", '"" is not a valid name: it is empty'],
      ["a\0b", String.raw`"a\u0000b" is not a valid name: it contains NUL`],
      ["a\ud800", "an unpaired surrogate"],
      [undefined, "a name must be a string; it is undefined"],
    ] as const) {
      expect(() => identifier(name as string))
        .to.throw(IdentifierError, message)
        .with.property("code", "ERR_SVC_IDENTIFIER");
    }
  });

  it("truncates the name in its error", () => {
    expect(() => identifier("x".repeat(100_000))).to.throw(/^.{0,160}$/);
  });

  it("names exactly the given object on a server, for any characters", async () => {
    const db = await client();
    const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((name) => {
      return !name.includes("\0") && !/\p{Surrogate}/u.test(name) && Buffer.byteLength(name) <= 63;
    });
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        const { fields } = await db.query(`select 1 as ${identifier(name)}`);
        expect(fields[0]?.name).to.equal(name);
      }),
      { numRuns: 100 },
    );
  });
});

describe("qualified", () => {
  it("quotes a schema and a name, or a name alone", () => {
    expect(qualified("audit.jobs")).to.equal('"audit"."jobs"');
    expect(qualified("jobs")).to.equal('"jobs"');
  });

  it("rejects more than two parts and empty parts", () => {
    expect(() => qualified("a.b.c")).to.throw(IdentifierError, "it must be name or schema.name");
    expect(() => qualified(".jobs")).to.throw(IdentifierError, "it is empty");
    expect(() => qualified("audit.")).to.throw(IdentifierError, "it is empty");
    expect(() => qualified(5 as never)).to.throw(IdentifierError, "it is number");
  });
});
