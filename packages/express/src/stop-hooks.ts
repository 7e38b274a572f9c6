import type { Logger } from "@svc/context";
import { func, oneOf, resolveOptions } from "@svc/options";
import { type StopHook, type StopPhase, stopPhases } from "@svc/plugin";

/** A service's hooks, by phase. */
export interface StopHooks {
  /** @throws ConfigurationError for an unknown phase, and for a hook that is not a function */
  readonly add: (phase: StopPhase, hook: StopHook) => void;
  /**
   * Runs all hooks in a phase in parallel, and waits for them at most until the timeout. Logs hooks that throw or hang.
   */
  readonly run: (phase: StopPhase) => Promise<void>;
}

const kinds = { phase: oneOf(...stopPhases), hook: func<StopHook>() };

/** @param timeoutMs time limit for one phase */
export function createStopHooks(timeoutMs: number, logger: () => Logger | undefined): StopHooks {
  const hooks = new Map<StopPhase, StopHook[]>();

  async function runOne(phase: StopPhase, hook: StopHook, signal: AbortSignal): Promise<void> {
    try {
      await Promise.race([hook(signal), aborted(signal)]);
    } catch (err) {
      logger()?.error({ err, phase }, "a stop hook failed");
    }
  }

  return {
    add(phase, hook) {
      resolveOptions("onStop()", { phase, hook }, kinds);
      const held = hooks.get(phase) ?? [];
      hooks.set(phase, [...held, hook]);
    },
    async run(phase) {
      const due = hooks.get(phase) ?? [];
      hooks.delete(phase);
      const controller = new AbortController();
      const timer = setTimeout(
        () => controller.abort(new Error(`the stop hook took longer than ${timeoutMs} ms`)),
        timeoutMs,
      );
      await Promise.all(due.map((hook) => runOne(phase, hook, controller.signal)));
      clearTimeout(timer);
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
