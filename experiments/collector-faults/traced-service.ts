import type { Random } from "../fuzz/random.ts";
import { startService, type ServiceProcess } from "../harness/service-process.ts";
import type { TracedSettings } from "../services/traced.ts";
import { createLoad, type Load } from "./load.ts";

/** A service and its collector in other processes, with a paused load. Disposal ends all three. */
export interface TracedService extends AsyncDisposable {
  readonly service: ServiceProcess;
  readonly collector: ServiceProcess;
  readonly load: Load;
}

export type TracedOptions = Omit<TracedSettings, "collectorPort" | "requestTimeoutSeconds" | "exitCode">;

/** The exit code of the service after a request to `/exit`. */
export const EXIT_CODE = 7;
const REQUEST_TIMEOUT_S = 2;

export async function startTracedService(
  options: TracedOptions,
  random: Random,
  perSecond: number,
): Promise<TracedService> {
  await using started = new AsyncDisposableStack();
  const collector = started.use(await startService("collector.ts", {}));
  const settings: TracedSettings = {
    ...options,
    collectorPort: collector.port,
    requestTimeoutSeconds: REQUEST_TIMEOUT_S,
    exitCode: EXIT_CODE,
  };
  const service = started.use(await startService("traced.ts", settings));
  const load = started.use(createLoad(service.port, random, perSecond));
  const all = started.move();
  return { service, collector, load, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
