import type { TracerProvider } from "@opentelemetry/api";
import { strictPropagator } from "./otel-propagator.ts";
import { registerProvider } from "./otel-tracer.ts";
import type { OpenTelemetry } from "./packages.ts";

/** Whether this package, and not the application, registered the global context manager and propagator. */
interface Shared {
  readonly ownsContext: boolean;
  readonly ownsPropagation: boolean;
}

/** The providers that are open, oldest first. */
const providers: TracerProvider[] = [];
let shared: Shared | undefined;
/** The provider that serves the application's own tracers. */
let serving: TracerProvider | undefined;

/**
 * Registers a provider for the whole process, with a context manager and a propagator. While several providers are open,
 * the oldest one serves the application's own tracers.
 *
 * @returns a function that unregisters it; the others remain registered
 */
export function register({ api, asyncHooks }: OpenTelemetry, provider: TracerProvider): () => void {
  shared ??= {
    ownsContext: api.context.setGlobalContextManager(
      new asyncHooks.AsyncLocalStorageContextManager().enable(),
    ),
    ownsPropagation: api.propagation.setGlobalPropagator(strictPropagator(api)),
  };
  providers.push(provider);
  serve(api, provider);
  return () => {
    providers.splice(providers.indexOf(provider), 1);
    const [next] = providers;
    if (serving === provider) {
      api.trace.disable();
      serving = undefined;
      if (next !== undefined) serve(api, next);
    }
    if (next === undefined) releaseShared(api);
  };
}

function serve(api: OpenTelemetry["api"], provider: TracerProvider): void {
  if (serving === undefined && registerProvider(api, provider)) serving = provider;
}

function releaseShared({ context, propagation }: OpenTelemetry["api"]): void {
  if (shared?.ownsContext === true) context.disable();
  if (shared?.ownsPropagation === true) propagation.disable();
  shared = undefined;
}
