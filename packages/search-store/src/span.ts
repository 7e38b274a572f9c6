import { endsWithin } from "@svc/resilience";
/** Attributes of a span: numbers, flags and short names, never a query or a text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Runs one operation inside a span. `set` adds attributes that are known only at the end of the operation. */
export type SpanHook = <T>(
  name: "rag.search" | "rag.ingest",
  attributes: SpanAttributes,
  run: (set: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>;

// Longest delay that a hook may add before an operation and after it, in milliseconds.
const HOOK_MS = 1000;

type Run<T> = (set: (attributes: SpanAttributes) => void) => Promise<T>;

/**
 * Runs an operation exactly once, inside a span if there is a hook. Errors of the hook do not affect the operation, which may
 * already be committed. A hook that does not start or finish delays it by at most a second each.
 */
export async function inSpan<T>(
  hook: SpanHook | undefined,
  name: Parameters<SpanHook>[0],
  attributes: SpanAttributes,
  run: Run<T>,
): Promise<T> {
  if (hook === undefined) return run(() => undefined);
  const begun = Promise.withResolvers<void>();
  let outcome: Promise<T> | undefined;
  const once: Run<T> = (set) => {
    outcome ??= run((more) => {
      try {
        set(more);
      } catch {
        // Ignore: the span lacks these attributes.
      }
    });
    // Prevent an unhandled rejection: the hook may end before the caller awaits the outcome.
    outcome.catch(() => undefined);
    begun.resolve();
    return outcome;
  };
  // Ignore errors of the hook: the operation continues without a span, and its own error reaches the caller below.
  const hooked = (async () => void (await hook(name, attributes, once)))().catch(() => undefined);
  await endsWithin(HOOK_MS, Promise.race([begun.promise, hooked]));
  try {
    return await once(() => undefined);
  } finally {
    await endsWithin(HOOK_MS, hooked);
  }
}
