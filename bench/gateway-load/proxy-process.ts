// An Express app with one proxy. It ends with the process that started it.
import type { AddressInfo } from "node:net";
import express from "express";
import { proxyBy } from "../gateway/subject.ts";

const [by = "", upstream = ""] = process.argv.slice(2);
const app = express();
proxyBy(by, upstream, app);
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("disconnect", () => process.exit());
