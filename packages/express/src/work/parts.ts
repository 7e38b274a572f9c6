/** Something that runs beside the server: a worker, a relay. */
export interface BackgroundPart {
  /** For log lines. */
  readonly name: string;
  /** Called once, and does not wait for anything. */
  start(): void;
  /** Takes on nothing new from the moment of the call; resolves when what runs has ended. Called once, and only when it was started. */
  stop(): Promise<void>;
  /** Has `stop()` wait no longer for what runs. Default: it does not wait for anything long. */
  readonly hurry?: (() => void) | undefined;
}

/** Tables that something needs. */
export interface SchemaPart {
  /** What names them for whoever configures the service, `plugin.queue.name` say. */
  readonly key: string;
  ensureSchema(): Promise<unknown>;
}
