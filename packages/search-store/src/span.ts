/** Attributes of a span: numbers, flags and short names, never a query or a text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Runs one operation inside a span. `set` adds attributes that are known at its end. */
export type SpanHook = <T>(
  name: "rag.search" | "rag.ingest",
  attributes: SpanAttributes,
  run: (set: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>;

// Longest delay that a hook may add before an operation and after it, in milliseconds.
const HOOK_MS = 1000;

type Name = Parameters<SpanHook>[0];
type Run<T> = (set: (attributes: SpanAttributes) => void) => Promise<T>;

/**
 * Runs an operation exactly once, inside a span if there is a hook. Errors of the hook do not affect the operation, which may
 * already be committed. A hook that does not start or finish delays it by at most a second each.
 */
export async function inSpan<T>(
  hook: SpanHook | undefined,
  name: Name,
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
  const hooked = ended(hook, name, attributes, once);
  await atMost(HOOK_MS, Promise.race([begun.promise, hooked]));
  try {
    return await once(() => undefined);
  } finally {
    await atMost(HOOK_MS, hooked);
  }
}

/** Waits for the end of the hook and ignores its error. The caller receives an error of the operation itself. */
async function ended<T>(hook: SpanHook, name: Name, attributes: SpanAttributes, run: Run<T>): Promise<void> {
  try {
    await hook(name, attributes, run);
  } catch {
    // Ignore: the operation continues without a span.
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, late]);
  clearTimeout(timer);
}
