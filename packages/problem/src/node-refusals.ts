import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { contextOf, mintRequestId, openContext, pathOf, pathOfTarget } from "@svc/context";
import { acceptable } from "./correlation.ts";
import { read } from "./foreign-error.ts";
import { requestFault } from "./request-fault.ts";
import { type AttachProblemsOptions, attachProblemsOptions, type ProblemLogger } from "./options.ts";
import { answerAndClose, rawProblem, targetOf } from "./raw-answer.ts";
import { prepareProblem, sendProblem } from "./send.ts";

/**
 * Options of `createServer` with which `attachProblems` checks the Host header; if Node checked it, the response would
 * have no body.
 */
export const problemServerOptions: Readonly<Pick<ServerOptions, "requireHostHeader">> = Object.freeze({
  requireHostHeader: false,
});

const attached = new WeakSet<Server>();

/**
 * Sends a problem document with a request id for requests that Node itself would reject before any middleware (ERR-21):
 * bytes that are not HTTP, targets and transfer codings that no route should see, header sections that are too large,
 * requests that arrive too slowly, a missing or repeated Host header, unknown expectations, CONNECT, and requests beyond
 * `maxRequestsPerSocket`. Closes the connection. Call it after the server has its request listener; a second call does
 * nothing.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function attachProblems(server: Server, options?: AttachProblemsOptions): void {
  const { logger, requestIdFrom } = attachProblemsOptions.resolve(options);
  if (attached.has(server)) return;
  attached.add(server);
  const note = noteOncePerSecond(logger);
  const refuse = (req: IncomingMessage, res: ServerResponse, status: number, detail: string): void => {
    const id = acceptable(orUndefined(() => requestIdFrom?.(req)));
    if (id !== undefined) openContext(req).requestId = id;
    sendProblem(req, res, { status, detail, headers: { Connection: "close" } });
    note(detail, status);
  };
  guardRequests(server, refuse);
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    refuse(req, res, 417, "the expectation of the request is not supported");
  });
  server.on("clientError", (error: Error, socket: Socket) => {
    answerClientError(error, socket, note);
  });
  server.on("connect", (req: IncomingMessage, socket: Socket) => {
    // The application has its own listener that handles CONNECT.
    if (server.listenerCount("connect") > 1) return;
    note("CONNECT", 405);
    socket.on("error", () => socket.destroy());
    const fields = { status: 405, detail: "Method Not Allowed" };
    answerAndClose(socket, rawProblem(fields, pathOfTarget(req.url ?? ""), mintRequestId(), ""));
  });
  server.on("dropRequest", (req: IncomingMessage, socket: HttpSocket) => {
    const res = socket._httpMessage;
    // The response of a pipelined request is not available here; Node responds to it with an empty 503.
    if (res?.req === req) endWithProblem(req, res);
  });
}

type Note = (code: string, status: number) => void;
// The response in progress on a connection. Node itself uses this private property when it refuses a request.
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

function guardRequests(
  server: Server,
  refuse: (req: IncomingMessage, res: ServerResponse, status: number, detail: string) => void,
): void {
  const listeners = server.listeners("request") as RequestListener[];
  // The option of createServer sets this property, which Node's types lack.
  (server as Server & { requireHostHeader?: boolean }).requireHostHeader = listeners.length === 0;
  if (listeners.length === 0) return;
  server.removeAllListeners("request");
  server.on("request", (req, res) => {
    const fault = requestFault(req);
    if (fault !== undefined) refuse(req, res, 400, fault);
    else return callAll(server, listeners, req, res);
  });
}

// Returns the result of the listener: a server with captureRejections handles its rejection.
function callAll(
  server: Server,
  listeners: readonly RequestListener[],
  req: IncomingMessage,
  res: ServerResponse,
): unknown {
  let result: unknown;
  for (const listener of listeners) result = listener.call(server, req, res as never);
  return result;
}

const answered = new WeakSet<Socket>();

function answerClientError(error: Error, socket: HttpSocket, note: Note): void {
  // The parser reports more errors while the rest of a refused request arrives.
  if (answered.has(socket)) return;
  const code = String(read(error, "code"));
  const refusal = refusalOf(code);
  const open = socket._httpMessage ?? undefined;
  if (refusal === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  // The client would mistake a problem response for the pending response to an earlier request. Only flush what is already
  // written.
  if (open !== undefined && (open.headersSent || open.req.complete)) {
    socket.destroySoon();
    return;
  }
  answered.add(socket);
  note(code, refusal.status);
  const target = targetOf(read(error, "rawPacket"));
  const instance = open !== undefined ? pathOf(open.req) : target === undefined ? "" : pathOfTarget(target);
  const id = (open && contextOf(open.req)?.requestId) || mintRequestId();
  answerAndClose(socket, rawProblem(refusal, instance, id));
}

function refusalOf(code: string): { status: number; detail: string } | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, detail: "the header section of the request is too large" };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, detail: "the chunk extensions of the request are too large" };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, detail: "the request did not arrive in time" };
    default:
      return code.startsWith("HPE_") ? { status: 400, detail: "the request is not valid HTTP" } : undefined;
  }
}

// Node writes the head and ends the response right after this event, so res.end() has to add the body.
function endWithProblem(req: IncomingMessage, res: ServerResponse): void {
  const body = prepareProblem(req, res, {
    status: 503,
    detail: "the connection has reached its maximum number of requests",
    headers: { Connection: "close" },
  });
  const end = res.end.bind(res);
  res.end = () => (req.method === "HEAD" ? end() : end(body));
}

const NOTE_INTERVAL_MS = 1_000;

// Logs at most one record per second and server, so that many bad requests do not flood the log.
function noteOncePerSecond(logger: ProblemLogger | undefined): Note {
  let last = -Infinity;
  let suppressed = 0;
  return (code, status) => {
    if (logger === undefined) return;
    const now = performance.now();
    if (now - last < NOTE_INTERVAL_MS) {
      suppressed += 1;
      return;
    }
    const fields = { code, http_status: status, suppressed };
    last = now;
    suppressed = 0;
    orUndefined(() => logger.debug(fields, "refused a request before any middleware ran"));
  };
}

// Nothing else catches errors here: if the logger or `requestIdFrom` threw, a client could end the process.
function orUndefined<T>(call: () => T): T | undefined {
  try {
    const answer = call();
    // The rejection of an async function would end the process too.
    if (answer instanceof Promise) answer.catch(() => undefined);
    return answer;
  } catch {
    return undefined;
  }
}
