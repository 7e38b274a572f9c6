import type { Environment } from "@svc/config";
import type { Database } from "@svc/database";
import type { ServiceOptions } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { ensureReceipts } from "./receipt-store.ts";
import { routes } from "./routes.ts";

/** Returns the options for `createService()`. */
export function receiptsService(env: Environment): ServiceOptions {
  return {
    config: new URL("../service.toml", import.meta.url),
    env,
    routes(app, { db }) {
      if (db === undefined) {
        const message = "must contain database";
        throw new ConfigurationError("the receipts service", [{ key: "plugins.enabled", message }]);
      }
      routes(app, { db, prepared: preparing(db) });
    },
  };
}

/** Returns a function that creates the table at its first call, and again after a failure. */
function preparing(db: Database): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= db.transaction(ensureReceipts, { isolation: "read committed" }).catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
