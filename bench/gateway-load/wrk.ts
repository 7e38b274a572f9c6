import { CONNECTIONS, type Load, outputOf, type Reading } from "./load.ts";

export const wrk: Load = {
  name: "wrk",
  program: { title: "wrk", files: ["wrk"], package: "wrk" },
  async run(file, url, seconds) {
    return readWrk(await outputOf(file, ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "--latency", url]));
  },
};

const MS_IN: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 };

/** @throws Error if a request failed */
export function readWrk(output: string): Reading {
  const failure = /^ *(?:Socket errors|Non-2xx or 3xx responses): .*$/m.exec(output);
  if (failure !== null) throw new Error(`wrk: ${failure[0].trim()}`);
  const [, rate] = /^Requests\/sec: +([\d.]+)$/m.exec(output) ?? [];
  const [, latency, unit = ""] = /^ +99% +([\d.]+)(us|ms|s)$/m.exec(output) ?? [];
  return { requestsPerSecond: Number(rate), p99Ms: Number(latency) * (MS_IN[unit] ?? Number.NaN) };
}
