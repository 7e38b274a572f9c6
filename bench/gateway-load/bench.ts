import { NoServerError, requireProgram } from "@svc/dev-services";
import { PREFIX } from "../gateway/subject.ts";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { expectEqual } from "../harness/expect-equal.ts";
import { lastCpu, pin } from "../harness/pin.ts";
import { h2load } from "./h2load.ts";
import { measure, type ReadyLoad, type Readings } from "./measure.ts";
import { type Running, startNode } from "./node-process.ts";
import { BASE, CONTROL, DIRECT, proxies, type Proxy } from "./proxies.ts";
import { figuresOf, type Skipped, tablesOf } from "./report.ts";
import { wrk } from "./wrk.ts";

const PATH = `${PREFIX}/items/10`;
/** Duration of one run of a load generator. Short runs keep the conditions of all proxies in a round similar. */
const SECONDS = 1;

/** Measures the throughput and the latency of proxies in front of the same server, without bounds. */
export const gatewayLoad: Bench = {
  async run(options) {
    const chosen = chosenProxies(options.only);
    const skipped = new Map<string, string>();
    const installed = chosen.filter(
      ({ name, program }) => program === undefined || pathOf(name, program, skipped) !== undefined,
    );
    const loads = readyLoads(skipped);
    const readings = loads.length === 0 ? new Map() : await measureAll(installed, loads, options);
    report(readings, skipped, options);
    return 0;
  },
};

/** Returns the proxies to measure, always with the base and the control. */
function chosenProxies(only: readonly string[] | undefined): readonly Proxy[] {
  const names = proxies.map(({ name }) => name);
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`there is no case ${unknown.join(", ")}; there are ${names.join(", ")}`);
  return proxies.filter(({ name }) => only === undefined || [BASE, CONTROL, ...only].includes(name));
}

/** Returns the path of a program; if it is missing, returns undefined and adds the reason to `skipped`. */
function pathOf(
  name: string,
  program: Parameters<typeof requireProgram>[0],
  skipped: Map<string, string>,
): string | undefined {
  try {
    return requireProgram(program);
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
    skipped.set(name, error.summary);
    return undefined;
  }
}

function readyLoads(skipped: Map<string, string>): readonly ReadyLoad[] {
  return [wrk, h2load].flatMap(({ name, program, run }) => {
    const path = pathOf(name, program, skipped);
    return path === undefined ? [] : [{ name, run: (url, seconds) => run(path, url, seconds) }];
  });
}

async function measureAll(
  chosen: readonly Proxy[],
  loads: readonly ReadyLoad[],
  { quick, rounds = quick ? 1 : 15, note }: BenchOptions,
): Promise<Readings> {
  await using upstream = await startNode("./upstream-process.ts");
  // The load generator and the server share the first CPU, so that each proxy has the last CPU for itself.
  pin(upstream.pid, 0);
  const running: Running[] = [];
  try {
    for (const proxy of chosen) running.push(await startPinned(proxy, upstream.url));
    const targets = running.map(({ url }, at) => ({ name: chosen[at]?.name ?? "", url: url + PATH }));
    for (const { name, url } of targets) {
      await prove(name, url, upstream.url);
      if (!quick) await loads[0]?.run(url, SECONDS);
    }
    return await measure(targets, loads, { rounds, seconds: SECONDS }, (round) =>
      note(`round ${round} of ${rounds}`),
    );
  } finally {
    await Promise.all(running.map((each) => each[Symbol.asyncDispose]()));
  }
}

async function startPinned({ name, start }: Proxy, upstream: string): Promise<Running> {
  const proxy = await start(upstream);
  if (name !== DIRECT) pin(proxy.pid, lastCpu);
  return proxy;
}

/** Checks that a proxy returns the response of the server. */
async function prove(name: string, url: string, upstream: string): Promise<void> {
  const response = await fetch(url);
  expectEqual(`the status of ${name}`, response.status, 200);
  expectEqual(`the body of ${name}`, await response.text(), await (await fetch(upstream)).text());
}

function report(readings: Readings, skipped: Skipped, { json, print, note }: BenchOptions): void {
  if (!json) {
    for (const line of tablesOf(readings, skipped)) print(line);
    return;
  }
  for (const figure of figuresOf(readings)) print(JSON.stringify({ bench: "gateway-load", ...figure }));
  for (const [name, reason] of skipped) note(`${name}: skipped, ${reason}`);
}
