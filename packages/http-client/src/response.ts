import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { jsonOf } from "@svc/resilience";
import { problemOf, UpstreamError } from "./failures.ts";

/** A response whose body has arrived. */
export interface ClientResponse {
  readonly status: number;
  /** Names in lower case, as in `node:http`. */
  readonly headers: IncomingHttpHeaders;
  /** Returns the body without a copy. */
  bytes(): Uint8Array;
  /** Returns the body as UTF-8. */
  text(): string;
  /**
   * Returns the body as JSON, regardless of its media type.
   *
   * @throws ProblemError 502 if the body is not JSON
   */
  json<T = unknown>(): T;
}

/** A response whose body is read as a stream. Read it to its end, or destroy it: the call lasts until then. */
export interface StreamedResponse {
  readonly status: number;
  /** Names in lower case, as in `node:http`. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** A response as it arrived, in the parts that undici delivered. */
export class BufferedResponse implements ClientResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #name: string;
  #chunks: readonly Buffer[];

  constructor(name: string, status: number, headers: IncomingHttpHeaders, chunks: readonly Buffer[]) {
    this.status = status;
    this.headers = headers;
    this.#name = name;
    this.#chunks = chunks;
  }

  bytes(): Buffer {
    const [only] = this.#chunks;
    if (this.#chunks.length === 1 && only !== undefined) return only;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  json<T = unknown>(): T {
    const value = jsonOf(this.bytes());
    if (value !== undefined) return value as T;
    const cause = new UpstreamError("invalid", "the body is not JSON", { status: this.status });
    throw problemOf(this.#name, cause, 0);
  }
}
