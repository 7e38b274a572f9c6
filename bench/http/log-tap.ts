import { openSync } from "node:fs";
import { devNull } from "node:os";
import { createDestination } from "@svc/log";

/** A place for log lines that can be looked at before anything is timed. */
export interface LogTap {
  /** Takes a line; hands it on to a real destination on the null device. */
  write(line: string): void;
  /** The lines of what `act` does. */
  during(act: () => Promise<unknown>): Promise<readonly Record<string, unknown>[]>;
}

export function createLogTap(): LogTap {
  const destination = createDestination({ fd: openSync(devNull, "w") });
  const real = (line: string): void => destination.write(line);
  const tap: LogTap = {
    write: real,
    async during(act) {
      const lines: string[] = [];
      tap.write = (line) => void lines.push(line);
      await act();
      tap.write = real;
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
  return tap;
}
