import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

/** A response that is buffered so that it can be changed. */
export interface HeldAnswer {
  status: number;
  body: Buffer;
  readonly path: string;
  readonly res: ServerResponse;
  text(): string;
  /** Returns the body as a JSON object, or an empty one. */
  json(): Record<string, unknown>;
  setJson(value: unknown, type?: string): void;
  setText(text: string, type: string): void;
}

/** A layer between the network and a sound service that makes the service break a rule. */
export interface Layer {
  /** Called for a request before the service handles it. Returns true if the layer has responded itself. */
  readonly request?:
    ((req: IncomingMessage, res: ServerResponse) => boolean | void | Promise<boolean | void>) | undefined;
  /** Changes a response. Not called for streamed responses. */
  readonly answer?: ((answer: HeldAnswer, req: IncomingMessage) => void) | undefined;
  /** Changes headers before they are sent, including the security headers. */
  readonly head?: ((res: ServerResponse, req: IncomingMessage) => void) | undefined;
}

type Head = (this: ServerResponse, status: number, ...rest: unknown[]) => ServerResponse;

/** Installs a layer in front of a server's own listener. */
export function breakServer(server: Server, layer: Layer): void {
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (req, res) => {
    const path = req.url?.split("?", 1)[0] ?? "";
    if (path !== "/streaming" && (layer.answer !== undefined || layer.head !== undefined))
      hold(req, res, layer);
    void Promise.resolve(layer.request?.(req, res)).then((answered) => {
      if (answered !== true) for (const listener of listeners) listener(req, res);
    });
  });
}

function hold(req: IncomingMessage, res: ServerResponse, layer: Layer): void {
  const chunks: Buffer[] = [];
  let sending = false;
  const prototype = Object.getPrototypeOf(res) as { writeHead: Head; end: Send; write: Send };
  const { writeHead: realHead, end: realEnd, write: realWrite } = prototype;
  const keep = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === "string") {
      chunks.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"));
    } else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const writeHead: Head = function writeHead(status, ...rest) {
    const headers = rest.at(-1);
    if (typeof headers === "object" && headers !== null && !Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value as string);
    }
    res.statusCode = status;
    if (sending) {
      layer.head?.(res, req);
      realHead.call(res, status);
    }
    return res;
  };
  res.writeHead = writeHead as typeof res.writeHead;
  /** Sends the changed response. With `write`, the service ends the response later. */
  function send(how: "write" | "end"): void {
    sending = true;
    const answer = held(req, res, Buffer.concat(chunks));
    layer.answer?.(answer, req);
    res.statusCode = answer.status;
    if (res.hasHeader("content-length")) res.setHeader("Content-Length", answer.body.length);
    (how === "end" ? realEnd : realWrite).call(res, answer.body);
  }
  res.write = ((chunk: unknown, encoding?: unknown) => {
    if (sending) return true;
    keep(chunk, encoding);
    if (Buffer.concat(chunks).length === Number(res.getHeader("content-length"))) send("write");
    return true;
  }) as typeof res.write;
  res.end = ((chunk?: unknown, encoding?: unknown) => {
    if (sending) return realEnd.call(res);
    keep(chunk, encoding);
    send("end");
    return res;
  }) as typeof res.end;
}

type Send = (this: ServerResponse, body?: Buffer) => ServerResponse;

function held(req: IncomingMessage, res: ServerResponse, body: Buffer): HeldAnswer {
  return {
    status: res.statusCode,
    body,
    path: req.url?.split("?", 1)[0] ?? "",
    res,
    text() {
      return this.body.toString("utf8");
    },
    json() {
      try {
        return JSON.parse(this.text()) as Record<string, unknown>;
      } catch {
        return {};
      }
    },
    setJson(value, type) {
      this.setText(
        JSON.stringify(value),
        type ?? String(res.getHeader("content-type") ?? "application/json"),
      );
    },
    setText(text, type) {
      this.body = Buffer.from(text);
      res.setHeader("Content-Type", type);
      res.setHeader("Content-Length", this.body.length);
    },
  };
}
