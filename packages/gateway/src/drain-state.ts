import { AsyncResource } from "node:async_hooks";
import type { Pool } from "undici";

const READY_PATH = "/ready";
const PROBE_EVERY_MS = 500;
const PROBE_MS = 1_000;
/**
 * Time for which a target counts as draining after its last sign of draining, while its readiness endpoint is unreachable.
 */
const DRAINING_MS = 60_000;
/** Time for which a target without a readiness endpoint counts as draining. */
const UNPROBED_MS = 1_000;

/**
 * Tracks whether a target is draining: it has announced its stop with `Connection: close`. The state ends when its `/ready`
 * succeeds, for example after a restart.
 */
export class DrainState {
  readonly #pool: Pool;
  readonly #now: () => number;
  #markedAt = -Infinity;
  #until = -Infinity;
  #hasReadiness = true;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  // Probes must not run in the context and the trace of the request whose response announced the drain.
  readonly #probeOutside = AsyncResource.bind(() => void this.#probe());

  constructor(pool: Pool, now: () => number) {
    this.#pool = pool;
    this.#now = now;
  }

  /** The time of the last sign that the target is draining. */
  get markedAt(): number {
    return this.#markedAt;
  }

  get isDraining(): boolean {
    return this.#until > this.#now();
  }

  /** Records a sign of draining: `Connection: close`, or a failing `/ready`. */
  mark(): void {
    this.#markedAt = this.#now();
    this.#until = this.#markedAt + (this.#hasReadiness ? DRAINING_MS : UNPROBED_MS);
    this.#scheduleProbe();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #scheduleProbe(): void {
    if (this.#isStopped || !this.#hasReadiness) return;
    this.#timer ??= setTimeout(this.#probeOutside, PROBE_EVERY_MS).unref();
  }

  async #probe(): Promise<void> {
    const status = await this.#readinessStatus();
    this.#timer = undefined;
    if (status === undefined) {
      if (this.isDraining) this.#scheduleProbe();
    } else if (status >= 500) this.mark();
    else if (status < 300) this.#until = -Infinity;
    else {
      this.#hasReadiness = false;
      this.#until = this.#markedAt + UNPROBED_MS;
    }
  }

  /** Returns undefined if the target does not respond. */
  async #readinessStatus(): Promise<number | undefined> {
    const limits = { headersTimeout: PROBE_MS, bodyTimeout: PROBE_MS };
    try {
      const { statusCode, body } = await this.#pool.request({ path: READY_PATH, method: "GET", ...limits });
      await body.dump();
      return statusCode;
    } catch {
      return undefined;
    }
  }
}
