import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { LazyStore } from "./lazy-store.ts";
import type { Maintenance } from "./maintenance.ts";

/**
 * Returns the check `search`: the location of the texts and the notes of the maintenance. Notes are never critical.
 *
 * @param critical whether a store that cannot be used makes the service unavailable
 */
export function searchCheck(
  lazy: Pick<LazyStore, "check">,
  maintenance: Pick<Maintenance, "notes">,
  critical: boolean,
): ReadinessCheck {
  async function check(signal: AbortSignal): Promise<CheckResult> {
    const state = await lazy.check(signal);
    if (!state.healthy) return { ...state, critical };
    const notes = maintenance.notes();
    if (notes.length === 0) return state;
    return { ...state, healthy: false, critical: false, detail: [state.detail, ...notes].join("; ") };
  }
  return { name: "search", critical, check };
}
