// A bare server of node:http. It ends with the process that started it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const BODY = JSON.stringify({ id: "10", name: "item 10" });

const server = createServer((_, res) => {
  res.setHeader("content-type", "application/json");
  res.setHeader("content-length", BODY.length);
  res.end(BODY);
});
server.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("disconnect", () => process.exit());
