/** A part that runs in the background: a worker, a relay. */
export interface BackgroundPart {
  /** Its name in log lines. */
  readonly name: string;
  /** Called once; must not block. */
  start(): void;
  /** Accepts no new work after the call, and resolves when its running work has ended. Called once, only after `start()`. */
  stop(): Promise<void>;
  /** Makes `stop()` wait no longer for running work. Default: none, for parts without long work. */
  readonly hurry?: (() => void) | undefined;
}

/** A table of a part. */
export interface SchemaPart {
  /** The configuration key with its name, for example `plugin.queue.name`. */
  readonly key: string;
  ensureSchema(): Promise<unknown>;
}
