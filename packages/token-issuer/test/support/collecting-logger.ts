import type { Logger } from "@svc/context";

export interface Line {
  readonly level: keyof Logger;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

export interface CollectingLogger extends Logger {
  readonly lines: readonly Line[];
  /** The messages of one level. */
  at(level: keyof Logger): readonly (string | undefined)[];
}

/** A logger that remembers what it was told. */
export function collectingLogger(): CollectingLogger {
  const lines: Line[] = [];
  const write =
    (level: keyof Logger) =>
    (fields: object, message?: string): void => {
      lines.push({ level, fields: { ...fields }, message });
    };
  return {
    lines,
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.message),
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
  };
}
