/** Attributes of a span: numbers, flags and short names, never a query or a text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Runs one operation inside a span. `set` adds the attributes that are known at its end. */
export type SpanHook = <T>(
  name: "rag.search" | "rag.ingest",
  attributes: SpanAttributes,
  run: (set: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>;

type Name = Parameters<SpanHook>[0];
type Run<T> = (set: (attributes: SpanAttributes) => void) => Promise<T>;

/**
 * Runs an operation once, inside a span where there is a hook. What the hook throws changes nothing about the operation: by
 * then it may have been committed.
 */
export async function inSpan<T>(
  hook: SpanHook | undefined,
  name: Name,
  attributes: SpanAttributes,
  run: Run<T>,
): Promise<T> {
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
    return outcome;
  };
  try {
    await hook?.(name, attributes, once);
  } catch {
    // Of the operation itself: rejected below. Of the hook: the operation goes on without it.
  }
  return once(() => undefined);
}
