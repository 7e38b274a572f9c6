import { type Behaviour, openOtlpReceiver } from "@svc/test-support/otlp";
import { announce, answerQuestions } from "../harness/within-service.ts";

/** The counts of the collector since the previous question. */
export interface Accepted {
  /** Spans in requests to which the collector responded with 200. */
  readonly spans: number;
  /** Spans that were accepted more than once. */
  readonly repeated: number;
  /** The lowest `n` of the request ids `n-<n>` in the spans; infinite without one. */
  readonly lowest: number;
  /** Why requests were invalid. */
  readonly faults: readonly string[];
}

const SWEEP_MS = 50;
const behaviours: readonly Behaviour[] = ["accept", "refuse", "hang", "429", "503", "500", "garbage", "drip"];

async function main(): Promise<void> {
  const receiver = await openOtlpReceiver();
  const ids = new Set<string>();
  const faults = new Set<string>();
  let spans = 0;
  let lowest = Number.MAX_SAFE_INTEGER;

  // The receiver keeps all spans and bodies, which would fill the memory in a long run.
  function sweep(): void {
    for (const { spanId, attributes } of receiver.spans) {
      spans += 1;
      ids.add(spanId);
      const [, n] = /^n-(\d+)$/.exec(String(attributes["jfast.request_id"])) ?? [];
      if (n !== undefined) lowest = Math.min(lowest, Number(n));
    }
    for (const { fault } of receiver.requests) if (fault !== undefined) faults.add(fault);
    receiver.clear();
  }

  function accepted(): Accepted {
    sweep();
    const found = { spans, repeated: spans - ids.size, lowest, faults: [...faults] };
    ids.clear();
    faults.clear();
    spans = 0;
    lowest = Number.MAX_SAFE_INTEGER;
    return found;
  }

  function behave(behaviour: Behaviour): true {
    receiver.behave(behaviour);
    return true;
  }

  setInterval(sweep, SWEEP_MS);
  answerQuestions({
    accepted,
    ...Object.fromEntries(behaviours.map((each) => [each, () => behave(each)])),
  });
  announce(Number(new URL(receiver.url).port));
}

void main();
