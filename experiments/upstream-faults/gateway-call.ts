import type { Agent, IncomingMessage } from "node:http";
import { request } from "node:http";

/** The bytes and milliseconds of a body after which the client disconnects. */
const mostBytes = 64 * 1024;
const mostMs = 200;
/** Milliseconds without a response after which the client disconnects. */
const patienceMs = 30_000;

/**
 * How a call ended: with the whole response, with a connection that broke during or before the response, or because the
 * client had read enough.
 */
export type Ending = "complete" | "cut off" | "left" | "no response";

/** The result of one call through the gateway. */
export interface GatewayCall {
  readonly ending: Ending;
  /** The response status; 0 without a response. */
  readonly status: number;
  /** Header names and values, alternating. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Milliseconds until the head of the response, or until the call failed. */
  readonly ms: number;
}

/** Headers that a gateway must not forward from a client that is not a trusted proxy; all values contain `forged`. */
const forged: Readonly<Record<string, string>> = {
  "X-Forwarded-For": "6.6.6.6, forged",
  "X-Forwarded-Host": "forged.example",
  "X-Forwarded-Proto": "forged",
  "X-Forwarded-Prefix": "/forged",
  X_Forwarded_For: "forged",
  "X-Real-IP": "forged",
  Forwarded: "for=forged",
  Via: "1.1 forged",
  Proxy: "http://forged.example",
  "Proxy-Authorization": "forged",
  "Keep-Alive": "forged",
  TE: "forged",
  "X-Hop": "forged",
  Connection: "keep-alive, X-Hop",
};

/**
 * Sends a request with forged headers through a gateway, and reads its response.
 *
 * @param id identifies the call at the service, in the header `X-Call`
 */
export function callGateway(
  port: number,
  path: string,
  method: string,
  id: string,
  agent: Agent,
): Promise<GatewayCall> {
  const body = method === "POST" ? "{}" : "";
  const headers = { ...forged, "X-Call": id, ...(body === "" ? {} : { "Content-Length": body.length }) };
  const began = performance.now();
  const { promise, resolve } = Promise.withResolvers<GatewayCall>();
  const none = { status: 0, rawHeaders: [], headers: {}, body: "" };
  const sent = request({ host: "127.0.0.1", port, path, method, headers, agent }, (res) => {
    const ms = performance.now() - began;
    void endingOf(res, sent).then(({ ending, body }) =>
      resolve({ ...statusAndHeaders(res), ending, body, ms }),
    );
  });
  sent.setTimeout(patienceMs, () => sent.destroy());
  sent.on("error", () => resolve({ ...none, ending: "no response", ms: performance.now() - began }));
  sent.end(body);
  return promise;
}

function statusAndHeaders({ statusCode = 0, rawHeaders, headers }: IncomingMessage): {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
} {
  return { status: statusCode, rawHeaders, headers };
}

/** Reads a response until its end, or until the client has read enough and disconnects. */
async function endingOf(
  res: IncomingMessage,
  sent: { destroy(): unknown },
): Promise<{ readonly ending: Ending; readonly body: string }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let hasLeft = false;
  const leave = (): void => {
    hasLeft = true;
    sent.destroy();
  };
  const timer = setTimeout(leave, mostMs);
  try {
    for await (const chunk of res as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > mostBytes) leave();
    }
  } catch {
    // The connection broke, which `complete` reports.
  }
  clearTimeout(timer);
  const ending = hasLeft ? "left" : res.complete ? "complete" : "cut off";
  return { ending, body: Buffer.concat(chunks).toString() };
}
