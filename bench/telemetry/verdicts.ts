import type { Measured } from "../harness/rounds.ts";
import { judged, unbounded, type Verdict } from "../harness/verdicts.ts";
import { medianOf } from "./figures.ts";

/** The largest permitted cost that tracing adds, relative to the cost that the instrumentations of OpenTelemetry add. */
interface AddedBound {
  readonly name: string;
  readonly stock: string;
  readonly base: string;
  readonly most: number;
}

const addedBounds: readonly AddedBound[] = [
  { name: "memory", stock: "stock", base: "none", most: 0.45 },
  { name: "sampled-out", stock: "stock", base: "none", most: 0.2 },
  { name: "sql-svc", stock: "sql-stock", base: "sql-none", most: 1 },
];

const MOST_WITHOUT_ENDPOINT = 1.05;
const MOST_HEAP_MB = 20;

/** Returns the verdicts of the bounds whose cases were all measured. */
export function verdictsOf(measured: Measured): readonly Verdict[] {
  const verdicts = addedBounds.flatMap((bound) => addedVerdict(measured, bound));
  const [none, inert] = [medianOf(measured, "none"), medianOf(measured, "no-endpoint")];
  if (none !== undefined && inert !== undefined) {
    const ratio = inert / none;
    verdicts.push(
      judged(
        ratio <= MOST_WITHOUT_ENDPOINT,
        `no-endpoint: ${ratio.toFixed(3)} x none, bound at most ${MOST_WITHOUT_ENDPOINT}`,
      ),
    );
  }
  const [stock, both] = [medianOf(measured, "stock"), medianOf(measured, "stock-beside-ours")];
  if (stock !== undefined && both !== undefined) {
    verdicts.push(unbounded(`stock-beside-ours: ${(both / stock).toFixed(3)} x stock`));
  }
  return verdicts;
}

function addedVerdict(measured: Measured, { name, stock, base, most }: AddedBound): readonly Verdict[] {
  const costs = [name, stock, base].map((each) => medianOf(measured, each));
  const [own, other, none] = costs;
  if (own === undefined || other === undefined || none === undefined) return [];
  const ratio = (own - none) / (other - none);
  // If the base costs more than `stock`, the ratio is negative and must not be accepted.
  const isKept = ratio <= most && other > none;
  const text =
    `${name} adds ${(own - none).toFixed(2)} us to ${base}: ${ratio.toFixed(3)} x what ${stock} adds ` +
    `(${(other - none).toFixed(2)} us), bound at most ${most}`;
  return [judged(isKept, text)];
}

/** Returns the verdict on the heaps after the same requests with a healthy collector and with a hanging one. */
export function heapVerdict(goodMb: number, hangingMb: number): Verdict {
  const text =
    `heap: ${hangingMb.toFixed(1)} MB with a hanging collector, ${goodMb.toFixed(1)} MB with a good one; ` +
    `bound at most ${MOST_HEAP_MB} MB more`;
  return judged(hangingMb - goodMb <= MOST_HEAP_MB, text);
}
