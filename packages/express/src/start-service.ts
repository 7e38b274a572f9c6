import { ConfigurationError } from "@svc/options";
import { createService } from "./create-service.ts";
import type { DefinedTasks, OwnPlugins, Service } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";

/** Process exit code for an invalid configuration (CFG-14). */
export const configurationExitCode = 2;

/**
 * Runs a service's start command: `createService()` and `start()`. The process's first argument, if given, is the path
 * of the configuration file (CFG-2). Writes an error to standard error and exits the process, with exit code 2 for an
 * invalid configuration and 1 for other errors.
 */
export async function startService<
  P extends OwnPlugins = Record<never, never>,
  T extends DefinedTasks = DefinedTasks,
>(options?: ServiceOptions<P, T>): Promise<Service<P, T>> {
  process.on("SIGTERM", stopEarly);
  try {
    const [, , file] = process.argv;
    const service = await createService<P, T>(file === undefined ? options : withFile(options ?? {}, file));
    const started = service.start();
    // Remove the listener only after the service has added its own: without any listener, a pending signal would be
    // lost.
    process.off("SIGTERM", stopEarly);
    await started;
    return service;
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(error instanceof ConfigurationError ? configurationExitCode : 1);
  }
}

/** Returns a copy of the options with another configuration file. Members of a class stay, which a spread would drop. */
function withFile<O extends object>(options: O, file: string): O {
  const members = Object.getOwnPropertyDescriptors(options);
  const config = { value: file, enumerable: true };
  return Object.create(Object.getPrototypeOf(options) as object | null, { ...members, config }) as O;
}

// The service has not accepted a request yet, so it can exit immediately.
function stopEarly(): void {
  process.exit(0);
}

function explain(error: unknown): string {
  if (error instanceof ConfigurationError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === "EADDRINUSE") return `port ${port} of ${address} is taken; set SVC_PORT to a free one`;
  if (code === "EACCES")
    return `port ${port} of ${address} is not permitted for this user; set SVC_PORT above 1023`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `host ${address ?? (error as { hostname?: string }).hostname} is not an address of this machine; set host in [service]`;
  return error.stack ?? error.message;
}
