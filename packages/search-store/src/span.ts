/** Attributes of a span: numbers, flags and short names, never a query or a text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Runs one operation inside a span. `set` adds the attributes that are known at its end. */
export type SpanHook = <T>(
  name: "rag.search" | "rag.ingest",
  attributes: SpanAttributes,
  run: (set: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>;

// How long a hook may keep an operation from its begin, and its caller from the outcome, in milliseconds.
const HOOK_MS = 1000;

type Name = Parameters<SpanHook>[0];
type Run<T> = (set: (attributes: SpanAttributes) => void) => Promise<T>;

/**
 * Runs an operation once, inside a span where there is a hook. What the hook throws changes nothing about the operation: by
 * then it may have been committed. One that does not run it, or does not end after it, is not waited for longer than a second.
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
        // The span lacks these.
      }
    });
    // A hook that does not wait for it is waited for first.
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

/** Resolves when the hook has ended, however it does. What the operation itself rejects with is its caller's to see. */
async function ended<T>(hook: SpanHook, name: Name, attributes: SpanAttributes, run: Run<T>): Promise<void> {
  try {
    await hook(name, attributes, run);
  } catch {
    // The operation goes on without it.
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, late]);
  clearTimeout(timer);
}
