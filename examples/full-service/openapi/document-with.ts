import { createService, type ServiceOptions } from "@svc/express";
import { expensesService } from "../src/service.ts";

/** A URL without a database server: the document does not depend on the database. */
const NO_DATABASE = "postgres://someone@127.0.0.1:1/none";

/**
 * Starts the service, and returns the text of its document.
 *
 * @param config replaces the configuration file of the example
 */
export async function documentWith(config?: ServiceOptions["config"]): Promise<string> {
  const env = {
    SVC_PORT: "0",
    DATABASE_URL: NO_DATABASE,
    SVC_AUTH_SECRET: "a secret of the document, 32 bytes or more",
  };
  await using service = await createService({
    ...expensesService(env),
    ...(config === undefined ? {} : { config }),
    signals: false,
    logDestination: { write: () => undefined },
  });
  await service.start();
  const answer = await fetch(`http://127.0.0.1:${service.address?.port}/openapi.json`);
  if (answer.status !== 200) throw new Error(`GET /openapi.json: ${answer.status}`);
  return await answer.text();
}
