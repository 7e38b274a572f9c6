import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { openOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "@svc/test-support/otlp";

/** A program that has ended, and what it exported. */
export interface EndedProgram {
  readonly code: number | null;
  /** The lines of JSON on standard output. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly stderr: string;
  readonly spans: readonly ReceivedSpan[];
  /** All exported bytes, decompressed. */
  readonly bytes: string;
}

export interface ProgramOptions {
  /** Name of the program's file; it decides between CommonJS and ES modules. */
  readonly program: string;
  readonly nodeArgs?: readonly string[];
  /** Contents of other files in the same folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. The variable `OTLP` has the URL of a receiver. */
export async function runProgram(
  source: string,
  { program, nodeArgs = [], files = {}, env = {} }: ProgramOptions,
): Promise<EndedProgram> {
  await using receiver: OtlpReceiver = await openOtlpReceiver();
  const folder = await mkdtemp(join(fileURLToPath(new URL("..", import.meta.url)), ".child-"));
  try {
    for (const [name, content] of Object.entries({ ...files, [program]: source }))
      await writeFile(join(folder, name), content);
    const child = spawn(process.execPath, ["--conditions=@svc/source", ...nodeArgs, program], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        ...env,
        OTLP: receiver.url,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
    return {
      code,
      lines: lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>),
      stderr,
      spans: [...receiver.spans],
      bytes: Buffer.concat(receiver.bodies).toString(),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns one line per span: scope, kind, name and name of the parent, which is `-` without one. */
export function treeOf(spans: readonly ReceivedSpan[]): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans
    .map(({ scope, kind, name, parentSpanId = "" }) => {
      const parent = names.get(parentSpanId) ?? "-";
      return `${scope.replace("@opentelemetry/instrumentation-", "")} ${kind} ${name} < ${parent}`;
    })
    .toSorted();
}
