import type { Logger } from "@svc/context";

/** A logger that keeps what it is told. */
export function keepingLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep =
    (level: string) =>
    (fields: object, message = ""): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  return {
    lines,
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    fatal: keep("fatal"),
  };
}
