import { openTestDatabase } from "@svc/dev-services";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { measureWithControls, VoidRunError } from "../harness/controls.ts";
import { type Effort, fullEffort, type Measured, quickEffort } from "../harness/rounds.ts";
import { conclude, type Verdict } from "../harness/verdicts.ts";
import { fetchAutoInstrumentations } from "@svc/test-support";
import { AUTO, checkNames, type Group, HEAP, requestCases, statementCases } from "./cases.ts";
import { type Figure, figuresOf, lineOf } from "./figures.ts";
import type { HeapReport } from "./heap-process.ts";
import { runFile } from "./run-file.ts";
import { heapVerdict, verdictsOf } from "./verdicts.ts";

// A statement waits for the server, so a slice needs fewer of them than of requests.
const fullStatements: Effort = { ...fullEffort, warmUp: 3_000, sliceMs: 50, fewest: 400, most: 1_000 };
const quickStatements: Effort = { ...quickEffort, warmUp: 500, fewest: 100, most: 200 };

const HEAP_REQUESTS = { full: 100_000, quick: 10_000 };

/** Measures what tracing adds to requests and statements, compared with the instrumentations of OpenTelemetry. */
export const telemetry: Bench = {
  async run(options) {
    const { only, quick, note } = options;
    checkNames(only);
    const verdicts = [...(await runRequests(options)), ...(await runStatements(options))];
    if (only === undefined || only.includes(HEAP)) {
      verdicts.push(await compareHeaps(quick ? HEAP_REQUESTS.quick : HEAP_REQUESTS.full, options));
    }
    if (only === undefined) {
      note(`${AUTO}: skipped, because it downloads 131 MB; name it in --only to measure it`);
    }
    return conclude(verdicts, options);
  },
};

async function runRequests(options: BenchOptions): Promise<readonly Verdict[]> {
  const folder = options.only?.includes(AUTO) ? await fetchAutoInstrumentations(options.note) : undefined;
  const group = requestCases(options.only, folder);
  return group === undefined ? [] : runGroup(group, options, options.quick ? quickEffort : fullEffort);
}

async function runStatements(options: BenchOptions): Promise<readonly Verdict[]> {
  // Start no server for a run without statements.
  if (statementCases(options.only, "") === undefined) return [];
  await using database = await openTestDatabase({ name: "telemetry" });
  const group = statementCases(options.only, database.url);
  if (group === undefined) return [];
  return await runGroup(group, options, options.quick ? quickStatements : fullStatements);
}

async function runGroup(group: Group, options: BenchOptions, effort: Effort): Promise<readonly Verdict[]> {
  const spans = new Map<string, number>();
  for (const { name, module, setting = "" } of group.cases) {
    if (!group.controls.names.includes(name)) {
      spans.set(name, await runFile<number>("count-spans.ts", [module.href, setting]));
    }
  }
  const measured = await measureGroup(group, options, effort);
  for (const figure of figuresOf(group, measured.costs, spans)) show(figure, options);
  return measured.fault === undefined ? verdictsOf(measured.costs) : [measured.fault];
}

/** Measures a group. Prints its results even if its control is out of range. */
async function measureGroup(
  { cases, controls }: Group,
  { rounds, note }: BenchOptions,
  effort: Effort,
): Promise<{ readonly costs: Measured; readonly fault?: Verdict }> {
  const chosen = rounds === undefined ? effort : { ...effort, rounds };
  try {
    return { costs: await measureWithControls(cases, controls, chosen, note) };
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    return { costs: error.measured, fault: { mark: "VOID", text: `${controls.base}: ${error.message}` } };
  }
}

async function compareHeaps(requests: number, options: BenchOptions): Promise<Verdict> {
  const heapOf = async (behaviour: "accept" | "hang"): Promise<number> => {
    const { heapMb } = await runFile<HeapReport>(
      "heap-process.ts",
      [behaviour, String(requests)],
      ["--expose-gc"],
    );
    const value = Math.round(heapMb * 100) / 100;
    const name = behaviour === "hang" ? "heap-hanging" : "heap-good";
    show({ case: name, metric: "heap_mb", value, unit: "MB" }, options);
    return heapMb;
  };
  return heapVerdict(await heapOf("accept"), await heapOf("hang"));
}

function show(figure: Figure, { json, print }: BenchOptions): void {
  print(json ? JSON.stringify({ bench: "telemetry", ...figure }) : lineOf(figure));
}
