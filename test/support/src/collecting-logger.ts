type Level = "debug" | "info" | "warn" | "error" | "fatal";

/** One call of a logger. */
export interface Line {
  readonly level: Level;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

/** A logger that records its calls. */
export type CollectingLogger = Readonly<Record<Level, (fields: object, message?: string) => void>> & {
  readonly lines: readonly Line[];
  /** Each call as text: level, message, and the fields as JSON. */
  readonly texts: readonly string[];
  /** The messages of one level. */
  at(level: Level): readonly (string | undefined)[];
};

export function collectingLogger(): CollectingLogger {
  const lines: Line[] = [];
  const write =
    (level: Level) =>
    (fields: object, message?: string): void =>
      void lines.push({ level, fields: { ...fields }, message });
  return {
    lines,
    get texts() {
      return lines.map(({ level, fields, message = "" }) => `${level} ${message} ${JSON.stringify(fields)}`);
    },
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.message),
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
  };
}
