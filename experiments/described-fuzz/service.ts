// The example `full-service`, for the experiment `described-fuzz`. Variants have a known fault.
import { createService } from "@svc/express";
import { conflict } from "@svc/problem";
import { expensesService } from "../../examples/full-service/src/service.ts";
import { newExpense } from "../../examples/full-service/src/validation.ts";
import { announce, settingsOfParent } from "../harness/within-service.ts";

export interface DescribedSettings {
  /** The URL of its database, as the role of the service. */
  readonly databaseUrl: string;
  /** The folder of the embedded database of the search, for a server without pgvector. */
  readonly searchFolder: string;
  readonly secret: string;
  readonly variant: string;
}

const { databaseUrl, searchFolder, secret, variant } = settingsOfParent<DescribedSettings>();

if (variant === "broken-no-body-check") {
  Object.assign(newExpense["~standard"], { validate: (value: unknown) => ({ value }) });
}

const env = {
  SVC_PORT: "0",
  DATABASE_URL: databaseUrl,
  SVC_AUTH_SECRET: secret,
};
const options = expensesService(env, { embeddedSearch: { dataDir: searchFolder } });
const service = await createService({
  ...options,
  logDestination: { write: () => undefined },
  routes(app, made) {
    if (variant === "broken-undeclared-status") {
      app.use((req, _res, next) => {
        next(req.path === "/search" ? conflict("the index is being built") : undefined);
      });
    }
    return options.routes?.(app, made);
  },
});
await service.start();
announce(service.address?.port);
