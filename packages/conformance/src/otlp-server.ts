import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { listenAt } from "./listen.ts";
import { type ReceivedSpan, readRequest } from "./otlp/index.ts";

export type OtlpServer = Awaited<ReturnType<typeof serveOtlp>>;

/**
 * Receives the spans that the service exports over OTLP/HTTP.
 *
 * @param address `host:port`
 */
export async function serveOtlp(address: string) {
  const spans: ReceivedSpan[] = [];
  const faults: string[] = [];
  let refuses = false;
  let hasPrivateParts = false;

  const server = createServer((req, res) => {
    // An export whose connection breaks before the end of its body needs no response.
    void buffer(req).then(
      (sent) => {
        const { status, encoding, fault, spans: more } = readRequest(req, sent);
        // A service may export its metrics and logs to the same endpoint.
        if (fault !== undefined && status !== 404) faults.push(fault);
        else if (!refuses) for (const span of more) spans.push(span);
        hasPrivateParts ||= req.headers.authorization !== undefined || req.url?.includes("?") === true;
        const type = encoding === "protobuf" ? "application/x-protobuf" : "application/json";
        // An exporter drops a batch after 400, but retries it after 503 (OTLP/HTTP, "Failures").
        res.writeHead(refuses ? 400 : status, { "Content-Type": type });
        res.end(encoding === "protobuf" ? "" : "{}");
      },
      () => undefined,
    );
  });
  const stop = await listenAt(server, "serve-otlp", address);
  return {
    /** The spans of all accepted requests, in order. */
    spans: spans as readonly ReceivedSpan[],
    /** The reasons why requests were invalid. */
    faults: faults as readonly string[],
    /** Whether a request shows that the OTLP endpoint that the service is configured with has user-info or a query. */
    get hasPrivateParts() {
      return hasPrivateParts;
    },
    /** Makes the receiver reject every request if `value` is true. */
    setRefusing(value: boolean): void {
      refuses = value;
    },
    stop,
  };
}
