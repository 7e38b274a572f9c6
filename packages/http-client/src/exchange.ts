import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { UpstreamError } from "./failures.ts";

/** A response, with its whole body in `chunks`, or with the stream `body`. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: readonly Buffer[];
  readonly body: Readable | undefined;
}

export interface ExchangeOptions {
  readonly method: string;
  /** Maximum size of the body in bytes; undefined makes the body a stream. */
  readonly maxBodyBytes: number | undefined;
  /** Time limit for status and headers after an interim response, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** Whether the caller decodes the body itself. */
  readonly acceptsEncoding: boolean;
  /** Returns the error that the reader of a stream gets when the connection fails. */
  readonly errorOfBody: (error: Error) => Error;
}

/** One request on a connection, whose methods undici calls. `answer` settles once. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>;
  /** Whether status and headers have arrived. */
  hasBegun = false;
  readonly #options: ExchangeOptions;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #length = 0;
  #body: Readable | undefined;
  #interimTimer: NodeJS.Timeout | undefined;
  #reason: Error | undefined;
  #ended = false;

  constructor(options: ExchangeOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.answer = promise;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Ends the exchange; `answer` rejects with this reason if it is still pending. */
  abort(reason: Error): void {
    if (this.#ended) return;
    this.#reason = reason;
    // A request that waits for a connection has no controller yet.
    if (this.#controller === undefined) this.#fail(reason);
    else this.#controller.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason !== undefined) controller.abort(this.#reason);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return this.#limitInterim(controller);
    clearTimeout(this.#interimTimer);
    this.hasBegun = true;
    this.#status = status;
    this.#headers = headers;
    if (this.#options.maxBodyBytes === undefined) this.#begin(controller);
    else this.#check(controller, this.#options.maxBodyBytes);
  }

  /** Starts a time limit for the headers, because undici restarts its own with each interim response. */
  #limitInterim(controller: Dispatcher.DispatchController): void {
    this.#interimTimer ??= setTimeout(() => {
      const message = "no response after an interim response";
      controller.abort(new UpstreamError("timeout", message, { fault: "connection" }));
    }, this.#options.headersTimeoutMs);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body !== undefined) {
      if (!this.#body.push(chunk)) controller.pause();
      return;
    }
    this.#length += chunk.length;
    if (this.#length > (this.#options.maxBodyBytes ?? 0)) controller.abort(tooLarge(this.#options));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#ended = true;
    if (this.#body !== undefined) this.#body.push(null);
    else
      this.#resolve({ status: this.#status, headers: this.#headers, chunks: this.#chunks, body: undefined });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /** Resolves `answer` with the response, whose body is a stream. */
  #begin(controller: Dispatcher.DispatchController): void {
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!this.#ended) controller.abort(error ?? new Error("the body was not read to its end"));
        done(error);
      },
    });
    // The connection may fail before the caller adds a listener; without one, the error would end the process.
    body.on("error", () => undefined);
    this.#body = body;
    this.#resolve({ status: this.#status, headers: this.#headers, chunks: [], body });
  }

  #check(controller: Dispatcher.DispatchController, maxBodyBytes: number): void {
    // In these responses the headers describe a body that is not sent.
    if (this.#options.method === "HEAD" || this.#status === 304) return;
    const { "content-length": length, "content-encoding": encoding = "" } = this.#headers;
    if (Number(length ?? 0) > maxBodyBytes) controller.abort(tooLarge(this.#options));
    else if (isEncoded(encoding) && !this.#options.acceptsEncoding)
      controller.abort(
        new UpstreamError("invalid", "the body is encoded, although no encoding was accepted"),
      );
  }

  #fail(error: Error): void {
    this.#ended = true;
    clearTimeout(this.#interimTimer);
    this.#body?.destroy(this.#options.errorOfBody(error));
    this.#reject(error);
  }
}

// Names of encodings are case-insensitive (RFC 9110, section 8.4.1); undici returns a header that is sent twice as a list.
function isEncoded(encoding: string | readonly string[]): boolean {
  return !/^(?:\s|,|identity)*$/i.test(String(encoding));
}

function tooLarge({ maxBodyBytes }: ExchangeOptions): UpstreamError {
  return new UpstreamError("invalid", `the body has more than ${maxBodyBytes} bytes`);
}
