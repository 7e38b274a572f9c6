import { ConfigurationError } from "@svc/options";
import { createService } from "./create-service.ts";
import type { Service } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";

/** Exit code of a process that was configured wrongly (CFG-14). */
export const configurationExitCode = 2;

/**
 * The start command of a service: `createService` and `start()`. The first argument of the process, when there is
 * one, is the place of the configuration file (CFG-2). What keeps the service from starting is written to standard
 * error in words, and ends the process: with exit code 2 when the configuration is wrong, else with 1.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  process.on("SIGTERM", stopEarly);
  try {
    const service = await createService({ ...options, config: process.argv[2] ?? options.config });
    const started = service.start();
    // Not before the service listens for it: a signal that has come but not been told of yet would be lost with the
    // last listener.
    process.off("SIGTERM", stopEarly);
    await started;
    return service;
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(error instanceof ConfigurationError ? configurationExitCode : 1);
  }
}

// Nothing has been served yet, so there is nothing to finish.
function stopEarly(): void {
  process.exit(0);
}

function explain(error: unknown): string {
  if (error instanceof ConfigurationError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === "EADDRINUSE") return `port ${port} of ${address} is taken; set SVC_PORT to a free one`;
  if (code === "EACCES")
    return `port ${port} of ${address} may not be used by this user; set SVC_PORT above 1023`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `host ${address ?? (error as { hostname?: string }).hostname} is no address of this machine; set host in [service]`;
  return error.stack ?? error.message;
}
