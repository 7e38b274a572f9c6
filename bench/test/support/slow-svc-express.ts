import type { Subject } from "../../harness/subject.ts";
import { start as startService } from "../../http/variants/svc-express.ts";

const rows = Array.from({ length: 60 }, (_, id) => ({ id, name: `row ${id}`, price: id / 7 }));

/** Starts the service with a middleware that costs more than the service itself. */
export function start(setting: string): Promise<Subject> {
  return startService(setting, [
    function wasteful(_req, res, next) {
      res.setHeader("X-Waste", JSON.stringify(JSON.parse(JSON.stringify(rows))).length);
      next();
    },
  ]);
}
