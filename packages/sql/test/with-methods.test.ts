import { original, withMethods } from "@svc/sql";
import { expect } from "chai";

class Counting {
  #queries = 0;
  async query() {
    return { rows: [{ n: ++this.#queries }], rowCount: 1 };
  }
  name = () => "own";
}

describe("withMethods()", () => {
  it("replaces some methods, and runs the others on the given object", async () => {
    const given = new Counting();
    const db = withMethods(given as never, { name: () => "other" }) as unknown as Counting;
    expect(db.name()).to.equal("other");
    expect((await db.query()).rows).to.deep.equal([{ n: 1 }]);
    expect((await given.query()).rows).to.deep.equal([{ n: 2 }]);
  });

  it("returns the given object from original()", () => {
    const given = new Counting();
    expect(original(withMethods(given as never, {}))).to.equal(given);
  });
});
