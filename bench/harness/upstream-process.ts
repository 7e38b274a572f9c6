import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const body = JSON.stringify({ id: "10", name: "item 10" });
const server = createServer((_req, res) => {
  res.setHeader("Content-Type", "application/json");
  res.end(body);
});
server.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
// Exit when the bench has ended.
process.once("disconnect", () => process.exit());
