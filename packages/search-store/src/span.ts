import type { SpanAttributes, SpanHook } from "./types.ts";

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
