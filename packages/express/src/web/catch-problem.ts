import { PROBLEM_TYPE } from "@svc/problem";
import type { ServerResponse } from "node:http";

/** The methods with which `sendProblem()` writes a body. */
type BodyMethod = "end" | "write" | "flushHeaders";
type AnyMethod = (...args: unknown[]) => unknown;

/**
 * Called in place of the method that writes the problem document, when status and headers are set.
 *
 * @param document undefined for a HEAD request
 * @param isEnded whether the response ends with this body
 */
export type ProblemListener = (document: Uint8Array | undefined, isEnded: boolean) => void;

/** Catches the next response if it is a problem document; any other response is sent unchanged. */
export function catchProblem(res: ServerResponse, onProblem: ProblemListener): void {
  const target = res as unknown as Record<BodyMethod, AnyMethod>;
  const own = bodyMethods.map((name) => [name, Object.getOwnPropertyDescriptor(res, name)] as const);

  function restore(): void {
    for (const [name, descriptor] of own) {
      Reflect.deleteProperty(res, name);
      if (descriptor !== undefined) Object.defineProperty(res, name, descriptor);
    }
  }

  for (const name of bodyMethods) {
    target[name] = (...args) => {
      restore();
      const document = args[0] instanceof Uint8Array ? args[0] : undefined;
      const isProblem = res.getHeader("Content-Type") === PROBLEM_TYPE;
      if (res.headersSent || !isProblem || (document === undefined && res.req.method !== "HEAD"))
        return target[name](...args);
      onProblem(document, name === "end");
      return res;
    };
  }
}

const bodyMethods: readonly BodyMethod[] = ["end", "write", "flushHeaders"];
