import { RequestContext, runWithContext } from "@svc/context";
import { createClient } from "@svc/http-client";
import { Pool } from "undici";
import { expectEqual } from "../harness/expect-equal.ts";
import type { PeerSetting } from "../harness/peer-bench.ts";
import type { Subject } from "../harness/subject.ts";

/** The number of concurrent calls. */
const CONCURRENT = 16;
const PATH = "/items/10";
const CONNECTIONS = 50;

type Ask = () => Promise<unknown>;

/** Calls a server in another process, and reads its responses as JSON. */
export async function start(setting: string): Promise<Subject> {
  const { by, url } = JSON.parse(setting) as PeerSetting;
  const ask = askBy(by, url);
  return {
    async prove() {
      expectEqual("the response", JSON.stringify(await ask()), JSON.stringify({ id: "10", name: "item 10" }));
    },
    async run(count) {
      let left = count;
      const work = async (): Promise<void> => {
        while (left-- > 0) await ask();
      };
      await Promise.all(Array.from({ length: CONCURRENT }, work));
    },
  };
}

function askBy(by: string, url: string): Ask {
  switch (by) {
    case "svc": {
      const client = createClient({ name: "items", baseUrl: url });
      return async () => (await client.get(PATH)).json();
    }
    case "svc-context": {
      const client = createClient({ name: "items", baseUrl: url });
      const traceId = "0af7651916cd43dd8448eb211c80319c";
      const trace = { traceId, traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: undefined };
      const context = new RequestContext({ requestId: "0af7651916cd43dd8448eb211c80319d", trace });
      return () => runWithContext(context, async () => (await client.get(PATH)).json());
    }
    case "undici-request": {
      const pool = new Pool(url, { connections: CONNECTIONS });
      return async () => (await pool.request({ method: "GET", path: PATH })).body.json();
    }
    default:
      return async () => (await fetch(url + PATH)).json();
  }
}
