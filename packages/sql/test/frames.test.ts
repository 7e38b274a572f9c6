import { testDatabase } from "@svc/dev-services";
import {
  type Frame,
  isBesideAnother,
  loseTransaction,
  openFrame,
  TransactionError,
  withTransaction,
} from "@svc/sql";
import { expect } from "chai";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

describe("withTransaction() with openFrame() or loseTransaction()", () => {
  const database = testDatabase({ name: "frames" });
  const { client, pool, end } = connections(() => database.url);
  after(end);

  it("rejects if a savepoint of other code is still open when the transaction ends", async () => {
    const db = pool({ max: 1 });
    let frame: Frame | undefined;
    const error = await failure(
      withTransaction(db, async (tx) => {
        await tx.query("savepoint other");
        frame = openFrame(tx);
        expect(frame.isOver).to.equal(false);
      }),
    );
    expect(frame?.isOver).to.equal(true);
    expect(error).to.be.instanceOf(TransactionError);
    expect(error.message).to.contain("overlap on one connection");
    expect(await withTransaction(db, () => "next")).to.equal("next");
  });

  it("closes a pool's connection if an inner transaction still uses it when the outer one ends", async () => {
    const db = pool({ max: 1 });
    let open!: () => void;
    const ended = new Promise<void>((resolve) => (open = resolve));
    let inner!: Promise<Error>;
    const outer = withTransaction(db, async (tx) => {
      let begun!: () => void;
      const started = new Promise<void>((resolve) => (begun = resolve));
      inner = failure(
        withTransaction(tx, () => {
          begun();
          return ended;
        }),
      );
      await started;
    });
    expect((await failure(outer)).message).to.contain("overlap on one connection");
    expect(db.totalCount).to.equal(0);
    open();
    expect(await inner).to.be.instanceOf(TransactionError);
  });

  it("commits if a savepoint of other code has ended before the transaction ends", async () => {
    const result = await withTransaction(pool({ max: 1 }), (tx) => {
      const frame = openFrame(tx);
      expect([frame.overlaps(), frame.isInnermost()]).to.deep.equal([false, true]);
      frame.leave();
      return "done";
    });
    expect(result).to.equal("done");
  });

  it("isBesideAnother() is true only while a transaction other than the caller's is innermost on the connection", async () => {
    const db = pool({ max: 2 });
    await withTransaction(db, async (tx) => {
      expect(isBesideAnother(tx), "alone").to.equal(false);
      await withTransaction(tx, () => expect(isBesideAnother(tx), "inside").to.equal(false));
      await withTransaction(db, (other) => expect(isBesideAnother(other), "other").to.equal(false));
      let open!: () => void;
      const ended = new Promise<void>((resolve) => (open = resolve));
      let begun!: () => void;
      const started = new Promise<void>((resolve) => (begun = resolve));
      const inner = withTransaction(tx, () => {
        begun();
        return ended;
      });
      await started;
      expect(isBesideAnother(tx), "beside").to.equal(true);
      open();
      await inner;
    });
  });

  it("rejects all enclosing calls with the error of a lost transaction, and closes only a pool's connection", async () => {
    const lost = new TransactionError("ended by other code");
    const db = pool({ max: 1 });
    const error = await failure(
      withTransaction(db, async (tx) => {
        const inner = withTransaction(tx, () => loseTransaction(tx, lost));
        expect(await failure(inner)).to.equal(lost);
      }),
    );
    expect(error).to.equal(lost);
    expect(db.totalCount).to.equal(0);
    const own = await client();
    expect(await failure(withTransaction(own, () => loseTransaction(own, lost)))).to.equal(lost);
    expect(await withTransaction(own, () => "next")).to.equal("next");
  });
});
