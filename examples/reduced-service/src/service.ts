import type { Environment } from "@svc/config";
import type { ServiceOptions } from "@svc/express";
import { routes } from "./routes.ts";

/** The service without a file: the environment says all there is to say. */
export function notesService(env: Environment): ServiceOptions {
  return { profile: "reduced", env, routes };
}
