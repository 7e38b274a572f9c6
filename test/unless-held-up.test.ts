import { type HoldUps, unlessHeldUp, watchHoldUps } from "@svc/test-support";
import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";

function standStill(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe("unlessHeldUp()", function () {
  this.timeout(30_000);

  /** Also returns the printed lines. */
  async function told<T>(
    find: () => Promise<T>,
    more: HoldUps<T> = {},
  ): Promise<{ readonly found: T | Error; readonly lines: readonly string[] }> {
    const lines: string[] = [];
    const tell = (line: string): void => void lines.push(line);
    const found = await unlessHeldUp(find, { ...more, tell }).catch((error: unknown) => error as Error);
    return { found, lines };
  }

  it("repeats a good or bad result found during a stall, and prints a line", async () => {
    let turns = 0;
    const { found, lines } = await told(async () => {
      turns += 1;
      if (turns < 3) standStill(400);
      await sleep(60);
      return { turns };
    });
    // The machine may cause a further stall.
    expect(found).to.have.property("turns").that.is.at.least(3);
    expect(lines[0]).to.match(/^stalled for \d+ ms, repeated; found: \{ turns: 1 \}$/);
    expect(lines).to.have.lengthOf(turns - 1);
  });

  it("detects a stall at the very end, and at the very beginning", async () => {
    let turns = 0;
    const { found } = await told(async () => {
      turns += 1;
      const turn = turns;
      if (turn === 1) standStill(400);
      return new Promise<number>((resolve) => {
        setTimeout(() => {
          if (turn === 2) standStill(400);
          resolve(turn);
        }, 60);
      });
    });
    expect(found).to.be.at.least(3);
  });

  it("keeps the result of a process without stalls, and the last one after the limit", async () => {
    let turns = 0;
    const find = async (): Promise<number> => {
      turns += 1;
      standStill(300);
      return Promise.resolve(turns);
    };
    const { found, lines } = await told(find, { show: (turn) => `turn\n${turn}` });
    expect(found).to.equal(6);
    expect(lines).to.have.lengthOf(5);
    expect(lines[4]).to.match(/; found: turn 5$/);
    turns = 0;
    const patient = await told(async () => Promise.resolve(++turns), { leastMs: 20_000 });
    expect(patient).to.deep.equal({ found: 1, lines: [] });
    turns = 0;
    expect(await told(find, { mostMs: 200 })).to.deep.equal({ found: 1, lines: [] });
  });

  it("repeats after one error and rejects with the second", async () => {
    let turns = 0;
    const { found, lines } = await told(async () => {
      turns += 1;
      standStill(400);
      return Promise.reject(new Error(`late ${turns}`));
    });
    expect(found).to.be.instanceOf(Error).with.property("message", "late 2");
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.match(/; thrown: Error: late 1$/);
  });

  it("repeats a result found during a stall of the server", async () => {
    let turns = 0;
    const { found } = await told(
      async () => {
        turns += 1;
        await sleep(400);
        return turns;
      },
      { ask: () => sleep(turns === 1 ? 300 : 1) },
    );
    expect(found).to.be.at.least(2);
  });
});

describe("watchHoldUps()", () => {
  it("returns the longest stall of the process", async () => {
    const watch = watchHoldUps();
    await sleep(60);
    standStill(200);
    await sleep(60);
    standStill(300);
    expect(await watch.end()).to.be.at.least(300);
  });
});
