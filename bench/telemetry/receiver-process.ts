// A collector in its own process, so that its CPU time does not count. It ends with the process that started it.
import { type Behaviour, openOtlpReceiver } from "@svc/test-support/otlp";

/** The message that the process sends after its start, and for every message that it receives. */
export interface ReceiverReport {
  readonly url: string;
  /** The number of all valid spans, and the name of the last one. */
  readonly spans: number;
  readonly lastName: string | undefined;
}

const FORGET_MS = 200;

const receiver = await openOtlpReceiver({ behaviour: process.argv[2] as Behaviour });
let spans = 0;
let lastName: string | undefined;

// Without this, the receiver keeps the spans of all requests.
function forget(): void {
  spans += receiver.spans.length;
  lastName = receiver.spans.at(-1)?.name ?? lastName;
  receiver.clear();
}

function report(): void {
  forget();
  process.send?.({ url: receiver.url, spans, lastName } satisfies ReceiverReport);
}

setInterval(forget, FORGET_MS);
process.on("message", report);
process.on("disconnect", () => process.exit());
report();
