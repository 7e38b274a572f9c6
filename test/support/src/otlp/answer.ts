import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Encoding, RequestContent } from "@svc/conformance/otlp";

/**
 * How the receiver responds:
 *
 * - `accept`: 200, or 4xx for a faulty request
 * - `refuse`: destroys the socket once the headers of a request have arrived
 * - `hang`: never
 * - `429`, `503`, `500`: this status without a body
 * - `garbage`: 200 with random bytes
 * - `drip`: 200 with one byte per second, without end
 */
export type Behaviour = "accept" | "refuse" | "hang" | "429" | "503" | "500" | "garbage" | "drip";

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  protobuf: "application/x-protobuf",
};

/** Responds to a request whose body has arrived. */
export function answer(
  res: ServerResponse,
  content: RequestContent,
  behaviour: Exclude<Behaviour, "refuse">,
  dripMs: number,
): void {
  const { status, encoding = "json", fault } = content;
  const headers = { "content-type": CONTENT_TYPES[encoding] };
  switch (behaviour) {
    case "accept":
      // Zero bytes are an empty message in protobuf, both as the response and as the Status of an error.
      res.writeHead(status, headers).end(encoding === "protobuf" ? "" : JSON.stringify({ message: fault }));
      return;
    case "hang":
      return;
    case "garbage":
      res.writeHead(200, headers).end(randomBytes(64));
      return;
    case "drip":
      drip(res.writeHead(200, headers), dripMs);
      return;
    default:
      res.writeHead(Number(behaviour), { "content-length": 0 }).end();
  }
}

function drip(res: ServerResponse, everyMs: number): void {
  res.write(" ");
  const timer = setInterval(() => res.write(" "), everyMs);
  res.once("close", () => clearInterval(timer));
}
