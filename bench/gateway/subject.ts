import { fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { gateway } from "@svc/gateway";
import express, { type Express } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import { Pool } from "undici";
import { expectEqual } from "../harness/expect-equal.ts";
import type { PeerSetting } from "../harness/peer-bench.ts";
import type { Subject } from "../harness/subject.ts";

export const PREFIX = "/api";

/** Starts a proxy in this process. Another process sends the requests, so that its CPU time does not count. */
export async function start(setting: string): Promise<Subject> {
  const { by, url } = JSON.parse(setting) as PeerSetting;
  const app = express();
  proxyBy(by, url, app);
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const load = fork(new URL("./load-process.ts", import.meta.url), [own], { execArgv: process.execArgv });
  return {
    async prove() {
      const response = await fetch(`${own}${PREFIX}/items/10`);
      expectEqual("the status", response.status, 200);
      expectEqual("the body", await response.text(), JSON.stringify({ id: "10", name: "item 10" }));
    },
    async run(count) {
      load.send(count);
      const [failed] = (await once(load, "message")) as [number];
      expectEqual("the number of failed requests", failed, 0);
    },
  };
}

/** Adds a proxy of this name to an Express app. */
export function proxyBy(by: string, url: string, app: Express): void {
  switch (by) {
    case "svc":
      app.use(gateway({ routes: [{ prefix: PREFIX, targets: [url] }] }));
      break;
    case "http-proxy-middleware":
      app.use(createProxyMiddleware({ target: url, pathFilter: PREFIX, changeOrigin: true, xfwd: true }));
      break;
    default:
      bareUndici(url, app);
  }
}

/** The minimum work of a proxy: it forwards path and body. */
function bareUndici(url: string, app: Express): void {
  const pool = new Pool(url, { connections: 50 });
  app.use((req, res, next) => {
    pool
      .stream({ method: "GET", path: req.url }, ({ statusCode, headers }) => {
        res.writeHead(statusCode, headers);
        return res;
      })
      .then(() => undefined, next);
  });
}
