import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** Returns whether a request has a body, which may still turn out to be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/** Receives the failures of a body. */
export interface BodyListener {
  /** The body has more bytes than allowed. */
  bodyTooLarge(): void;
  /** The client has disconnected before the end of the body. */
  clientGone(): void;
  /** The client has sent nothing for longer than the time limit. */
  bodyStalled(): void;
}

/**
 * The body of a request, as undici reads it. When a request fails, undici destroys the stream that it received; the client's
 * connection must survive this, because the gateway still responds on it. Reads nothing before undici does.
 */
export class RequestBody extends Readable {
  readonly #req: IncomingMessage;
  readonly #listener: BodyListener;
  readonly #maxBytes: number;
  readonly #idleMs: number;
  #idle: NodeJS.Timeout | undefined;
  #bytes = 0;
  #isReading = false;

  /**
   * @param maxBytes 0 means no limit
   * @param idleMs time limit for the next bytes of the client, while the target can accept them
   */
  constructor(
    req: IncomingMessage,
    { maxBytes, idleMs }: { readonly maxBytes: number; readonly idleMs: number },
    listener: BodyListener,
  ) {
    super({ highWaterMark: req.readableHighWaterMark });
    this.#req = req;
    this.#maxBytes = maxBytes;
    this.#idleMs = idleMs;
    this.#listener = listener;
    // undici removes its own listener, and an error without a listener would end the process.
    this.on("error", ignore);
  }

  override _read(): void {
    if (!this.#isReading) {
      this.#isReading = true;
      this.#req.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
    }
    this.#idle ??= setTimeout(() => this.#listener.bodyStalled(), this.#idleMs);
    this.#idle.refresh();
    this.#req.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearTimeout(this.#idle);
    if (this.#isReading) {
      this.#req.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
      // Discard the rest of the body, so that the connection does not stall.
      if (!this.#req.readableEnded) this.#req.resume();
    }
    callback(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    if (this.#maxBytes > 0 && this.#bytes > this.#maxBytes) this.#listener.bodyTooLarge();
    else if (this.push(chunk)) this.#idle?.refresh();
    else {
      this.#req.pause();
      clearTimeout(this.#idle);
      this.#idle = undefined;
    }
  };

  readonly #onEnd = (): void => {
    clearTimeout(this.#idle);
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#req.complete) this.#listener.clientGone();
  };
}

function ignore(): void {}
