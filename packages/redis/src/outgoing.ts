import type { Redis } from "ioredis";

type Stream = Redis["stream"];

/** The destination to which a client writes commands, in the form of an ioredis pipeline. */
export interface Outgoing {
  readonly isPipeline: true;
  readonly destination: { readonly redis: { readonly stream: Stream } };
  write(data: string | Buffer): void;
}

/**
 * Collects the commands of one event-loop iteration and writes them together, since the system call would otherwise dominate
 * the cost of a command.
 */
export function createOutgoing(redis: Redis): Outgoing {
  let target: Stream | undefined;
  let text = "";

  function flush(): void {
    const [stream, data] = [target, text];
    target = undefined;
    text = "";
    if (stream?.writable === true && data !== "") stream.write(data);
  }

  return {
    isPipeline: true,
    destination: { redis },
    write(data) {
      const { stream } = redis;
      if (target === undefined) setImmediate(flush);
      // Drop commands for a lost connection, which have failed already.
      else if (target !== stream) text = "";
      target = stream;
      if (typeof data === "string") {
        text += data;
        return;
      }
      if (text !== "") stream.write(text);
      text = "";
      stream.write(data);
    },
  };
}
