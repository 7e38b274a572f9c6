import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import type { OpenTelemetry } from "../../src/packages.ts";

/** Where a call fails: before it has an effect, or after it. */
export type FaultPlace = "before" | "after";

/** An OpenTelemetry API in which one call throws. */
export interface FaultyOpenTelemetry {
  readonly api: OpenTelemetry["api"];
  readonly tracer: api.Tracer;
  /** Makes one of the next calls throw, and restarts the count. */
  arm(call: number, place: FaultPlace): void;
  /** Returns whether the call that throws has been made. */
  thrown(): boolean;
  /** Unregisters the context manager. */
  release(): void;
}

/** Registers a context manager, and wraps the API, the tracer and everything that their calls return. */
export function faultyOpenTelemetry(): FaultyOpenTelemetry {
  let calls = 0;
  let fault: { readonly call: number; readonly place: FaultPlace } | undefined;
  let thrown = false;
  const wrappers = new WeakMap<object, object>();
  const wrapped = new WeakSet<object>();

  function fail(call: number, place: FaultPlace): void {
    if (fault?.place !== place || fault.call !== call) return;
    fault = undefined;
    thrown = true;
    throw new Error("a fault of OpenTelemetry");
  }

  function wrap<T>(value: T): T {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
    if (wrapped.has(value)) return value;
    const wrapper =
      wrappers.get(value) ??
      new Proxy(value, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== "function" || name === "constructor") return wrap(member);
          return (...args: unknown[]) => {
            const call = ++calls;
            fail(call, "before");
            const result: unknown = member.apply(target, args);
            fail(call, "after");
            // A promise is the result of a traced operation.
            return result instanceof Promise ? result : wrap(result);
          };
        },
      });
    wrappers.set(value, wrapper);
    wrapped.add(wrapper);
    return wrapper as T;
  }

  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    // A module namespace cannot be wrapped, because its members are fixed.
    api: wrap({ ...api }),
    tracer: wrap(new TracerProvider().getTracer("test")),
    arm(call, place) {
      calls = 0;
      thrown = false;
      fault = { call, place };
    },
    thrown: () => thrown,
    release: () => api.context.disable(),
  };
}

/** A context manager whose every call throws, except the one that unregisters it. */
export function brokenContextManager(): api.ContextManager {
  const fail = (): never => {
    throw new Error("a fault of the context manager");
  };
  const manager = { active: fail, with: fail, bind: fail, enable: fail, disable: () => manager };
  return manager as unknown as api.ContextManager;
}
