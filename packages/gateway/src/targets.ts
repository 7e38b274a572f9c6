import type { Logger } from "@svc/context";
import { type Attempt, type Breaker, type BreakerChange, createBreaker, endsWithin } from "@svc/resilience";
import { Pool } from "undici";
import { DrainState } from "./drain-state.ts";
import type { ResolvedRoute } from "./options.ts";

/** Consecutive failures after which a target gets no requests for COOL_DOWN_MS. */
const FAILURES = 3;
const COOL_DOWN_MS = 10_000;
const CLOSE_MS = 2_000;

/** One request to a target; its outcome decides whether the target is paused. Only the first report counts. */
export interface TargetCall extends Attempt {
  readonly target: Target;
}

/** One origin of a service, with its connections. */
export class Target {
  /** The host without port, for spans. */
  readonly address: string;
  readonly pool: Pool;
  readonly #breaker: Breaker;
  readonly #ordinary: TargetCall;
  /** Undefined for the only target of a route, which always gets all requests. */
  readonly #drain: DrainState | undefined;

  constructor(
    origin: string,
    { timeoutSeconds, connectTimeoutSeconds, targets }: ResolvedRoute,
    now: () => number,
    onChange: (change: BreakerChange, origin: string) => void,
  ) {
    const url = new URL(origin);
    this.address = url.hostname;
    this.pool = new Pool(url.origin, {
      allowH2: false,
      pipelining: 1,
      connect: { timeout: connectTimeoutSeconds * 1000 },
      headersTimeout: timeoutSeconds * 1000,
      // An event stream may be silent indefinitely. TCP keep-alive detects a host that has disappeared.
      bodyTimeout: 0,
    });
    this.#drain = targets.length > 1 ? new DrainState(this.pool, now) : undefined;
    const breaker = createBreaker({
      failures: FAILURES,
      coolDownMs: COOL_DOWN_MS,
      now,
      onChange: (change) => onChange(change, url.origin),
    });
    this.#breaker = breaker;
    // All requests share one object while the target responds; only the trial after a pause needs its own object.
    this.#ordinary = {
      target: this,
      succeeded: () => breaker.succeeded(),
      failed: () => {
        // Do not pause a draining target: it would still be paused when its next process is ready.
        if (!this.isDraining) breaker.failed();
      },
      cancelled: () => undefined,
    };
  }

  /** Returns a call; undefined while the target is paused. */
  begin(): TargetCall | undefined {
    if (this.#breaker.state === "closed") return this.#ordinary;
    const attempt = this.#breaker.attempt();
    return attempt && { target: this, ...attempt };
  }

  get isAnswering(): boolean {
    return this.#breaker.state === "closed" || this.#breaker.retryAfterMs === 0;
  }

  get isDraining(): boolean {
    return this.#drain?.isDraining === true;
  }

  /** The time of the last sign that the target is draining. */
  get drainingSince(): number {
    return this.#drain?.markedAt ?? -Infinity;
  }

  /** Milliseconds until the target may get a request. */
  get retryAfterMs(): number {
    return this.#breaker.retryAfterMs;
  }

  /** Sends new requests to other targets: the target has announced that it closes its connections. */
  markDraining(): void {
    this.#drain?.mark();
  }

  /** Closes the connections when their running requests have ended, or after two seconds. */
  async stop(): Promise<void> {
    this.#drain?.stop();
    if (!(await endsWithin(CLOSE_MS, this.pool.close()))) await this.pool.destroy();
  }
}

/** The targets of one route. */
export class Targets {
  readonly all: readonly Target[];
  #next = 0;

  constructor(route: ResolvedRoute, now: () => number, logger: Logger | undefined) {
    const log = ({ from, to }: BreakerChange, target: string): void => {
      const fields = { gateway_prefix: route.prefix, target };
      if (to === "closed") logger?.info(fields, "a target of the gateway is answering again");
      else if (from === "closed")
        logger?.warn(fields, "a target of the gateway is not answering; it gets no requests for 10 s");
    };
    this.all = route.targets.map((origin) => new Target(origin, route, now, log));
  }

  /**
   * Returns a call to the next target in turn that is neither paused nor draining; if all others are paused, a call to a
   * draining target.
   *
   * @param tried targets that the request has already tried
   * @returns undefined if no target is left
   */
  begin(tried: readonly Target[] | undefined): TargetCall | undefined {
    const { all } = this;
    const start = this.#next;
    this.#next = (start + 1) % all.length;
    for (let step = 0; step < all.length; step += 1) {
      const target = all[(start + step) % all.length];
      if (target === undefined || target.isDraining || tried?.includes(target) === true) continue;
      const call = target.begin();
      if (call !== undefined) return call;
    }
    return this.#beginDraining(tried);
  }

  /**
   * Tries draining targets in the order of their last sign of draining, oldest first, because that target is most likely to
   * have restarted.
   */
  #beginDraining(tried: readonly Target[] | undefined): TargetCall | undefined {
    const draining = this.all.filter((target) => target.isDraining && tried?.includes(target) !== true);
    for (const target of draining.toSorted((a, b) => a.drainingSince - b.drainingSince)) {
      const call = target.begin();
      if (call !== undefined) return call;
    }
    return undefined;
  }

  get answering(): number {
    return this.all.filter((target) => target.isAnswering).length;
  }

  /** Seconds until a target may get a request, at least one. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.min(...this.all.map((target) => target.retryAfterMs)) / 1000);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((target) => target.stop()));
  }
}
