import { type Bucket, memoryStore } from "@svc/rate-limit";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { createHeap, type HeapEntry } from "../src/heap.ts";

const bucket: Bucket = { limit: 10, windowSeconds: 10, burst: 10 };

describe("memoryStore()", () => {
  it("RATE-3 refills a bucket continuously, up to its burst", () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    const take = (cost = 1): readonly [boolean, number] => {
      const { isAdmitted, microTokens } = store.take("key", bucket, cost);
      return [isAdmitted, microTokens];
    };
    expect(take(10)).to.deep.equal([true, 0]);
    now = 999;
    expect(take()).to.deep.equal([false, 999_000]);
    now = 1000;
    expect(take()).to.deep.equal([true, 0]);
    now = 3500;
    expect(take()).to.deep.equal([true, 1_500_000]);
    now = 1e9;
    expect(take()).to.deep.equal([true, 9_000_000]);
  });

  it("RATE-3 admits at most burst + rate x time, for any interval between requests", () => {
    for (const everyMs of [0.001, 0.37, 1, 7, 333, 1501]) {
      let now = 0;
      const store = memoryStore({ now: () => now });
      const odd: Bucket = { limit: 7, windowSeconds: 3, burst: 5 };
      let admitted = 0;
      const calls = 20_000;
      for (let call = 0; call < calls; call++) {
        now = call * everyMs;
        if (store.take("key", odd, 1).isAdmitted) admitted += 1;
      }
      const most = 5 + (now / 1000) * (7 / 3);
      expect(admitted, `every ${everyMs} ms`).to.be.at.most(Math.floor(most));
      expect(admitted, `every ${everyMs} ms`).to.be.at.least(Math.min(calls, Math.floor(most) - 1));
    }
  });

  it("counts exactly with limits of 1 and of 1,000,000,000", () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    const small: Bucket = { limit: 1, windowSeconds: 86_400, burst: 1 };
    expect(store.take("small", small, 1).isAdmitted).to.equal(true);
    // Refusals in between must not reduce the tokens that the bucket has gained.
    for (now = 0; now < 86_400_000; now += 60_000)
      expect(store.take("small", small, 1).isAdmitted).to.equal(false);
    expect(store.take("small", small, 1).isAdmitted).to.equal(true);
    const large: Bucket = { limit: 1e9, windowSeconds: 1, burst: 1e9 };
    expect(store.take("large", large, 1e9)).to.deep.equal({ isAdmitted: true, microTokens: 0 });
    now += 0.001;
    expect(store.take("large", large, 1000)).to.deep.equal({ isAdmitted: true, microTokens: 0 });
    expect(store.take("large", large, 1).isAdmitted).to.equal(false);
  });

  it("adds no tokens to a bucket when its clock goes back", () => {
    let now = 5000;
    const store = memoryStore({ now: () => now });
    store.take("key", bucket, 10);
    now = 0;
    expect(store.take("key", bucket, 1)).to.deep.equal({ isAdmitted: false, microTokens: 0 });
  });

  it("removes the bucket that will be full first when there are too many", () => {
    const store = memoryStore({ maxKeys: 1000, now: () => 0 });
    store.take("drained", bucket, 10);
    store.take("half", bucket, 5);
    for (let client = 0; client < 50_000; client++) store.take(`client-${client}`, bucket, 1);
    expect(store.size).to.equal(1000);
    expect(store.take("drained", bucket, 1).isAdmitted).to.equal(false);
    expect(store.take("half", bucket, 6).isAdmitted).to.equal(false);
    expect(store.take("half", bucket, 5).isAdmitted).to.equal(true);
  });

  it("removes full buckets while it adds others", () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    for (let client = 0; client < 10_000; client++) store.take(`old-${client}`, bucket, 1);
    now = 1000;
    for (let client = 0; client < 10_000; client++) store.take(`new-${client}`, bucket, 1);
    expect(store.size).to.equal(10_000);
  });

  it("has at most 100,000 buckets by default", () => {
    const store = memoryStore({ now: () => 0 });
    for (let client = 0; client < 120_000; client++) store.take(`client-${client}`, bucket, 1);
    expect(store.size).to.equal(100_000);
  });

  it("rejects options of the wrong type", () => {
    expect(() => memoryStore({ maxKeys: 0 })).to.throw(ConfigurationError, /maxKeys: must be a whole number/);
  });
});

describe("the heap of the memory store", () => {
  it("returns its entries in order of rank after random changes", () => {
    const heap = createHeap<HeapEntry>();
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 16_807) % 2_147_483_647) % below;
    let all: HeapEntry[] = [];
    for (let step = 0; step < 20_000; step++) {
      const entry = all[random(Math.max(1, all.length))];
      const kind = random(4);
      if (entry === undefined || kind === 0) {
        const added = { rank: random(1000), index: -1 };
        all.push(added);
        heap.add(added);
      } else if (kind === 1) {
        heap.remove(entry);
        all = all.filter((each) => each !== entry);
      } else heap.move(entry, random(1000));
      if (step % 100 === 0) expect(heap.first?.rank).to.equal(lowest(all));
    }
    expect(all.length).to.be.greaterThan(10);
    const ranks = all.map(({ rank }) => rank).toSorted((a, b) => a - b);
    for (const rank of ranks) {
      const first = heap.first as HeapEntry;
      expect(first.rank).to.equal(rank);
      heap.remove(first);
    }
    expect(heap.first).to.equal(undefined);
  });
});

function lowest(entries: readonly HeapEntry[]): number | undefined {
  return entries.length === 0 ? undefined : Math.min(...entries.map(({ rank }) => rank));
}
