import { expect } from "chai";
import { createPasswords, type Derive, recommendedCost } from "../src/passwords.ts";
import { cheapCost } from "./support/cheap-cost.ts";

describe("passwords", () => {
  it("are stored as scrypt hashes with a new salt and the cost", async () => {
    const stored = await createPasswords().hash("correct horse");
    expect(stored).to.match(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    const { matches } = createPasswords({ cost: cheapCost });
    expect(await matches("correct horse", stored)).to.equal(true);
    const cheap = await createPasswords({ cost: cheapCost }).hash("correct horse");
    expect(await matches("correct horsf", cheap)).to.equal(false);
    expect(128 * recommendedCost.N * recommendedCost.r).to.equal(32 * 1024 * 1024);
  });

  it("get different hashes if stored twice, and still match after the cost was raised", async () => {
    const cheap = createPasswords({ cost: cheapCost });
    const [one, other] = [await cheap.hash("same"), await cheap.hash("same")];
    expect(one).not.to.equal(other);
    const dearer = createPasswords({ cost: { N: 64, r: 2, p: 1 } });
    expect(await dearer.matches("same", one)).to.equal(true);
    expect(await dearer.hash("same")).to.match(/^scrypt\$64\$2\$1\$/);
  });

  it("match in any Unicode normalization form", async () => {
    const { hash, matches } = createPasswords({ cost: cheapCost });
    expect(await matches("cafe\u0301", await hash("caf\u00e9"))).to.equal(true);
  });

  it("take the same time to check without a stored hash, and never match without one", async () => {
    const costs: number[] = [];
    const derive: Derive = (_password, _salt, { N }) => {
      costs.push(N);
      return Promise.resolve(Buffer.alloc(32));
    };
    const { hash, matches } = createPasswords({ cost: cheapCost, derive });
    const stored = await hash("x");
    for (const each of [stored, undefined, null]) {
      const before = costs.length;
      expect(await matches("x", each)).to.equal(each === stored);
      expect(costs.slice(before)).to.deep.equal([cheapCost.N]);
    }
  });

  it("are checked a few at a time; some checks wait, and further checks get a 503 with Retry-After", async () => {
    const started: (() => void)[] = [];
    const derive: Derive = () => new Promise((resolve) => started.push(() => resolve(Buffer.alloc(32))));
    const { matches } = createPasswords({ cost: cheapCost, derive, atOnce: 2, waiting: 3 });
    const five = Array.from({ length: 5 }, () => matches("x", undefined));
    const refused: unknown = await matches("x", undefined).catch((error: unknown) => error);
    expect(refused).to.include({ status: 503 });
    expect((refused as { headers: object }).headers).to.deep.equal({ "Retry-After": "2" });
    expect(started).to.have.length(2);
    let done = 0;
    for (const each of five) void each.then(() => (done += 1));
    while (done < 5) {
      expect(started.length).to.be.at.most(2);
      started.shift()?.();
      await new Promise(setImmediate);
    }
    // Both slots are free again.
    const two = [matches("x", undefined), matches("x", undefined)];
    expect(started).to.have.length(2);
    for (const each of started.splice(0)) each();
    expect(await Promise.all(two)).to.deep.equal([false, false]);
  });

  it("leave the queue when their client disconnects, so that other passwords can be checked", async () => {
    const started: (() => void)[] = [];
    const derive: Derive = () => new Promise((resolve) => started.push(() => resolve(Buffer.alloc(32))));
    const { matches } = createPasswords({ cost: cheapCost, derive, atOnce: 1, waiting: 2 });
    const left = new AbortController();
    const running = matches("x", undefined, left.signal);
    const waiting = [matches("x", undefined, left.signal), matches("x", undefined, left.signal)];
    const refused: unknown = await matches("x", undefined).catch((error: unknown) => error);
    expect(refused).to.include({ status: 503 });
    left.abort();
    const ends = await Promise.allSettled(waiting);
    expect(ends).to.deep.equal(Array(2).fill({ status: "rejected", reason: left.signal.reason }));
    const tooLate: unknown = await matches("x", undefined, left.signal).catch((error: unknown) => error);
    expect(tooLate).to.equal(left.signal.reason);
    const next = [matches("x", undefined), matches("x", undefined)];
    while (started.length > 0) {
      started.shift()?.();
      await new Promise(setImmediate);
    }
    expect(await Promise.all([running, ...next])).to.deep.equal([false, false, false]);
  });

  it("free their slot when their check fails", async () => {
    const derive: Derive = () => Promise.reject(new Error("out of memory"));
    const { matches } = createPasswords({ cost: cheapCost, derive, atOnce: 1, waiting: 0 });
    for (let i = 0; i < 3; i++) {
      const error: unknown = await matches("x", undefined).catch((reason: unknown) => reason);
      expect(String(error)).to.equal("Error: out of memory");
    }
  });

  it("cannot be checked against a stored hash in another format", async () => {
    const { matches } = createPasswords({ cost: cheapCost });
    for (const stored of ["", "x", "$2b$12$abc", "scrypt$16$1$1$c2FsdA"]) {
      const error: unknown = await matches("x", stored).catch((reason: unknown) => reason);
      expect(String(error), stored).to.contain("not made by this service");
    }
  });
});
