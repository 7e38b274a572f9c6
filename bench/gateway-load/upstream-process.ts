// A server that takes little CPU time, so that it does not limit the proxies: it sends the same bytes at the end of each head,
// and reads nothing else. It ends with the process that started it.
import { type AddressInfo, createServer } from "node:net";

const BODY = JSON.stringify({ id: "10", name: "item 10" });
const RESPONSE = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
);
const END = "\r\n\r\n";

const server = createServer({ noDelay: true }, (socket) => {
  // The end of a head may arrive in two chunks.
  let rest = "";
  socket.on("data", (piece) => {
    const parts = (rest + piece.toString("latin1")).split(END);
    rest = parts.at(-1)?.slice(1 - END.length) ?? "";
    if (parts.length === 2) socket.write(RESPONSE);
    else if (parts.length > 2) socket.write(Buffer.concat(parts.slice(1).map(() => RESPONSE)));
  });
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("disconnect", () => process.exit());
