import { createServer } from "node:http";
import { problemHandler } from "@svc/problem";
import express from "express";
import { expectEqual } from "../harness/expect-equal.ts";
import { createInjector, type Injector } from "../harness/injector.ts";
import type { Subject } from "../harness/subject.ts";
import { addRoute, item, openTraffic, urlOf } from "../http/route.ts";
import { limitBy, type LimitSetting } from "./limits.ts";

/** The number of concurrent requests. */
const IN_FLIGHT = 16;

/** Starts an Express 5 application with the limit of a case. */
export async function injectorOf(setting: LimitSetting): Promise<Injector> {
  const app = express();
  const limit = await limitBy(setting);
  if (limit !== undefined) app.use(limit);
  addRoute(app);
  app.use(problemHandler() as never);
  return createInjector(createServer(app));
}

export async function start(text: string): Promise<Subject> {
  const setting = JSON.parse(text) as LimitSetting;
  const injector = await injectorOf(setting);
  return {
    async prove() {
      const remaining: (string | undefined)[] = [];
      for (let sent = 0; sent < 2; sent++) {
        const { status, body, headers } = await injector.send("GET", urlOf(0));
        expectEqual("the status", status, 200);
        expectEqual("the body", body, JSON.stringify(item("10")));
        remaining.push(headers["ratelimit-remaining"]);
        if (setting.by === "none") continue;
        expectEqual("the limit", headers["ratelimit-limit"], String(setting.limit));
      }
      if (setting.by === "none") return expectEqual("the remaining requests", remaining[1], undefined);
      // A bucket of a billion tokens is full again before the next request, so both values may be equal. A window keeps
      // counting.
      const [first, second] = remaining.map(Number);
      expectEqual(
        "whether requests are counted",
        Number(second) <= Number(first) && Number(first) < setting.limit,
        true,
      );
    },
    run: (count) => injector.run(openTraffic.requests, count, IN_FLIGHT),
  };
}
