import type { Environment } from "@svc/config";
import type { ServiceOptions } from "@svc/express";
import { routes } from "./routes.ts";

/** Returns the options of a service that is configured only by environment variables. */
export function notesService(env: Environment): ServiceOptions {
  return { profile: "reduced", env, routes };
}
