import { execFileSync } from "node:child_process";
import type { RedisServer } from "@svc/dev-services";

// A server has sent its earlier replies before it replies to a connection that is opened later.
const PING = `
const { connect } = require("node:net");
for (const port of process.argv.slice(1)) {
  const socket = connect(Number(port), "127.0.0.1", () => socket.write("PING\\r\\n"));
  socket.once("data", () => socket.destroy());
}`;

/**
 * Blocks the event loop until every server has replied to the commands that this process sent before, and for at least
 * `ms` milliseconds.
 */
export function stallUntilReplied(servers: readonly RedisServer[], ms: number): void {
  const end = performance.now() + ms;
  const ports = servers.map(({ port }) => String(port));
  execFileSync(process.execPath, ["-e", PING, ...ports], { timeout: 30_000 });
  while (performance.now() < end);
}
