import { openSync } from "node:fs";
import { devNull } from "node:os";
import { createDestination } from "@svc/log";

/** A log destination whose lines can be read before the measurement. */
export interface LogTap {
  /** Writes a line to the null device. */
  write(line: string): void;
  /** Returns the lines that are written while `act` runs. */
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
