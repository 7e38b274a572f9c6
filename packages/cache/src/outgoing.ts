import type { Redis } from "ioredis";

type Stream = Redis["stream"];

/** Where a client writes its commands, in the manner of a pipeline of ioredis. */
export interface Outgoing {
  readonly isPipeline: true;
  readonly destination: { readonly redis: { readonly stream: Stream } };
  write(data: string | Buffer): void;
}

/**
 * Gathers the commands of one turn of the event loop and writes them at once: written one by one, most of what a command
 * costs would be the system call.
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
      // What was meant for a connection that is gone has failed already.
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
