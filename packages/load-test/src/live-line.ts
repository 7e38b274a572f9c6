import type { Progress } from "./options.ts";

/** A line of a terminal that shows the progress of a step. */
export interface LiveLine {
  readonly show: (progress: Progress) => void;
  readonly clear: () => void;
}

/** Creates a live line, which writes nothing if the stream is not a terminal. */
export function liveLine(stream: {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
}): LiveLine {
  const write = (text: string): void => {
    if (stream.isTTY === true) stream.write(`\r\u001b[K${text}`);
  };
  return {
    show({ clients, seconds, requestsPerSecond }) {
      const rate = Math.round(requestsPerSecond).toLocaleString("en");
      const state = seconds < 0 ? "warm-up" : `${Math.floor(seconds)} s, ${rate} requests/s`;
      write(`${clients} ${clients === 1 ? "client" : "clients"}: ${state}`);
    },
    clear() {
      write("");
    },
  };
}
