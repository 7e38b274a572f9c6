import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, runWithContext } from "@svc/context";

/**
 * Returns a `next()` that keeps the current async contexts of this project and of other libraries, because listeners of a
 * request run outside of them.
 */
export function inSameContext(
  req: IncomingMessage,
  next: (error?: unknown) => void,
): (error?: unknown) => void {
  const restore = AsyncLocalStorage.snapshot();
  return (error) => {
    restore(() => {
      const context = contextOf(req);
      // An earlier reader may have lost the context already, before the snapshot was taken.
      if (context !== undefined && currentContext() !== context) runWithContext(context, () => next(error));
      else next(error);
    });
  };
}
