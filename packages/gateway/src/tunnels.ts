import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";

/** Time limit for the peers to close a WebSocket after its close frame. */
const CLOSE_MS = 1_000;

// A close frame with the code 1001, going away (RFC 6455, sections 5.5.1 and 7.4.1).
const CLOSE_FRAME = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

/** The open WebSockets of a gateway: pairs of sockets. */
export interface Tunnels {
  /** Passes bytes between two sockets, in both directions, until both have ended. It has no idle timeout. */
  open(client: Socket, target: Socket): void;
  /** Sends a close frame with 1001 to both sides of each pair, and ends them. Resolves when they are closed. */
  close(): Promise<void>;
  readonly isClosed: boolean;
}

interface Tunnel {
  readonly client: Socket;
  readonly target: Socket;
}

export function createTunnels(): Tunnels {
  const opened = new Set<Tunnel>();
  let closed: Promise<void> | undefined;

  function open(client: Socket, target: Socket): void {
    const tunnel = { client, target };
    opened.add(tunnel);
    for (const socket of [client, target]) {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 60_000);
    }
    endTogether(client, target);
    endTogether(target, client);
    client.on("close", () => target.destroyed && opened.delete(tunnel));
    target.on("close", () => client.destroyed && opened.delete(tunnel));
    client.pipe(target);
    target.pipe(client);
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...opened].map(closeTunnel));
  }

  return {
    open,
    close: () => (closed ??= closeAll()),
    get isClosed() {
      return closed !== undefined;
    },
  };
}

/** Closes a socket when the other socket is closed. `pipe()` has already passed on an orderly end. */
function endTogether(socket: Socket, other: Socket): void {
  socket.on("close", (hadError) => {
    if (hadError) other.destroy();
    else other.destroySoon();
  });
}

async function closeTunnel({ client, target }: Tunnel): Promise<void> {
  client.unpipe(target);
  target.unpipe(client);
  // A client masks its frames (RFC 6455, section 5.3); for the target, the gateway is the client.
  await Promise.all([endWith(client, CLOSE_FRAME), endWith(target, masked(CLOSE_FRAME))]);
}

function masked(frame: Buffer): Buffer {
  const mask = randomBytes(4);
  const payload = frame.subarray(2).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([frame[0] ?? 0, 0x80 | payload.length]), mask, payload]);
}

/** Writes the last bytes, discards bytes that still arrive, and resolves when the socket is closed. */
function endWith(socket: Socket, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (socket.destroyed) return Promise.resolve();
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
  socket.on("close", () => {
    clearTimeout(timer);
    resolve();
  });
  socket.resume();
  socket.end(bytes);
  return promise;
}
