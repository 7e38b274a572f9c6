import { Duplex } from "node:stream";

/** A connection that accepts all writes immediately and keeps the bytes only on request. */
export class StubSocket extends Duplex {
  readonly remoteAddress: string = "127.0.0.1";
  readonly remoteFamily: string = "IPv4";
  readonly remotePort: number = 50_000;
  readonly localAddress: string = "127.0.0.1";
  readonly localPort: number = 8000;
  readonly connecting: boolean = false;
  #kept: Buffer[] | undefined;

  constructor() {
    // Pass strings to `_write()` undecoded, as sockets of node:net do.
    super({ decodeStrings: false });
  }

  /** Stores the bytes that are written from now on, until {@link taken} returns them. */
  keep(): void {
    this.#kept = [];
  }

  taken(): string {
    const text = Buffer.concat(this.#kept ?? []).toString("latin1");
    this.#kept = undefined;
    return text;
  }

  override _read(): void {}

  override _write(chunk: string | Buffer, encoding: BufferEncoding, callback: () => void): void {
    this.#kept?.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
    callback();
  }

  override _writev(
    chunks: readonly { readonly chunk: string | Buffer; readonly encoding: BufferEncoding }[],
    callback: () => void,
  ): void {
    if (this.#kept !== undefined) {
      for (const { chunk, encoding } of chunks) {
        this.#kept.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
      }
    }
    callback();
  }

  destroySoon(): void {
    this.destroy();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
