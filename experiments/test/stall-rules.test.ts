import { expect } from "chai";
import { waitedOf } from "../harness/stall-rules.ts";
import type { Span } from "../harness/stalled-service.ts";

describe("waitedOf()", () => {
  const span = (startedAt: number, endedAt: number): Span => ({
    ms: endedAt - startedAt,
    startedAt,
    endedAt,
  });
  /** Returns a stall monitor that saw one stall, between the two moments. */
  const stalls = (from: number, to: number): Parameters<typeof waitedOf>[2] => ({
    between: (start, end) => Math.max(0, Math.min(to, end) - Math.max(from, start)),
  });

  it("returns the whole duration when the machine did not stall and no other request was concurrent", () => {
    expect(waitedOf(span(0, 1000), [span(-300, -100), span(1100, 1900)], stalls(2000, 3000))).to.equal(1000);
  });

  it("subtracts the duration of the longest concurrent request", () => {
    expect(waitedOf(span(0, 1000), [span(100, 105), span(200, 900)], stalls(0, 0))).to.equal(300);
  });

  it("subtracts a stall only once, even if it delayed a concurrent request too", () => {
    expect(waitedOf(span(0, 1000), [], stalls(-500, 600))).to.equal(400);
    expect(waitedOf(span(0, 1000), [span(0, 610)], stalls(-500, 600))).to.equal(390);
  });
});
