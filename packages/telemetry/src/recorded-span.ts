/** A span that has ended, as `spans()`, `/debug/traces` and the exporter `console` show it. */
export interface RecordedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  /** ISO 8601 in UTC, with milliseconds. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly status: "unset" | "ok" | "error";
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  /** `service.name`, `service.version` and `deployment.environment.name` (TRACE-14). */
  readonly resource: Readonly<Record<string, unknown>>;
}
