import { testDatabase } from "@svc/dev-services";
import { isTransaction, transactionOf, type Within } from "@svc/sql";
import { expect } from "chai";
import { connections } from "./support/connections.ts";

const refuse = (message: string): Error => new RangeError(message);

describe("transactionOf()", () => {
  const database = testDatabase({ name: "given-transaction" });
  const { client, pool: newPool, end } = connections(() => database.url);
  after(end);

  it("returns a connection with an open transaction, or one whose driver does not report its state", async () => {
    const own = await client();
    await own.query("begin");
    const other = { query: () => Promise.resolve({ rows: [] }) };
    for (const tx of [own, other]) expect(transactionOf({ tx }, refuse)).to.equal(tx);
    expect(transactionOf(undefined, refuse)).to.equal(undefined);
    expect(transactionOf({}, refuse)).to.equal(undefined);
    expect(transactionOf({ tx: other, dead: true } as Within, refuse, "dead")).to.equal(other);
  });

  it("rejects a pool, an idle connection and other values with the caller's error", async () => {
    const idle = await client();
    for (const tx of [newPool(), idle, {}, null, "begin", () => undefined]) {
      expect(isTransaction(tx)).to.equal(false);
      const given = { tx } as unknown as Within;
      expect(() => transactionOf(given, refuse)).to.throw(
        RangeError,
        "tx must be a connection with an open transaction",
      );
    }
  });

  it("says what the transaction of a data mapper lacks", () => {
    const tx = { execute: () => undefined };
    expect(() => transactionOf({ tx } as unknown as Within, refuse)).to.throw(
      "it has no query(): pass the connection that the transaction of a data mapper uses",
    );
  });

  it("rejects a connection passed instead of { tx }, and unknown members next to tx", async () => {
    const own = await client();
    await own.query("begin");
    for (const given of [own, { tx: own, dead: true }, null, 5]) {
      expect(() => transactionOf(given as unknown as Within, refuse)).to.throw(
        RangeError,
        "the options must be an object with no members other than tx",
      );
    }
    expect(() => transactionOf({ tx: own, x: 1 } as Within, refuse, "dead")).to.throw("other than tx, dead");
  });
});
