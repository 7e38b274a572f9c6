import type { Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createInjector, type Injector } from "../harness/injector.ts";
import { expectEqual } from "../harness/expect-equal.ts";
import type { Subject } from "../harness/subject.ts";
import { item, openTraffic, type Traffic, urlOf } from "./route.ts";

/** Returns the subject that measures a server. `prove` runs after the proof of the route itself. */
export function httpSubject(
  server: Server,
  prove?: (injector: Injector) => Promise<void>,
  { requests, headers }: Traffic = openTraffic,
): Subject {
  const injector = createInjector(server);
  return {
    async prove() {
      const answer = await injector.send("GET", urlOf(0), headers);
      expectEqual("the status", answer.status, 200);
      expectEqual(
        "the media type",
        answer.headers["content-type"]?.toLowerCase().split(";")[0],
        "application/json",
      );
      expectEqual("the body", answer.body, JSON.stringify(item("10")));
      await prove?.(injector);
    },
    run: (count) => injector.run(requests, count),
    async listen() {
      if (!server.listening) {
        server.listen(0, "127.0.0.1");
        await once(server, "listening");
      }
      return {
        port: (server.address() as AddressInfo).port,
        requests: requests.map(({ bytes }) => bytes.toString("latin1")),
      };
    },
  };
}
