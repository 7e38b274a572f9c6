import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/**
 * Sends commands over one connection. Resolves with the one-line replies, for example `+OK` or `:3`. Only for commands
 * with one-line replies.
 *
 * @throws Error for an error reply, or if the replies do not arrive within the time limit
 */
export function redisCommands(
  url: string,
  commands: readonly (readonly string[])[],
  timeoutMs = 5000,
): Promise<readonly string[]> {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const database = pathname.slice(1);
  const opening: string[][] = [];
  if (password !== "") {
    const user = username === "" ? [] : [decodeURIComponent(username)];
    opening.push(["AUTH", ...user, decodeURIComponent(password)]);
  }
  if (database !== "") opening.push(["SELECT", database]);
  const all = [...opening, ...commands];
  const where = { host: hostname.replaceAll(/[[\]]/g, ""), port: Number(port || 6379) };
  return new Promise((resolve, reject) => {
    const socket: Socket = protocol === "rediss:" ? connectTls(where) : connect(where);
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    let text = "";
    function fail(error: Error): void {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    }
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the connection was closed")));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const lines = text.split("\r\n").slice(0, -1);
      const wrong = lines.find((line) => line.startsWith("-"));
      if (wrong !== undefined) return fail(new Error(wrong.slice(1)));
      if (lines.length < all.length) return;
      resolve(lines.slice(opening.length));
      clearTimeout(timer);
      socket.destroy();
    });
    for (const words of all) socket.write(encoded(words));
  });
}

function encoded(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join("")}`;
}
