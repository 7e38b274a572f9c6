import { readFile, writeFile } from "node:fs/promises";
import { optionName, readCommandLine } from "./command-line.ts";
import { LoadTestError } from "./errors.ts";
import { helpText } from "./flags.ts";
import { htmlReport } from "./html-report.ts";
import { k6Script } from "./k6-script.ts";
import { prepare, runSteps } from "./load-test.ts";
import { type LoadTestOptions, resolveOptions, usage } from "./options.ts";
import { liveLine } from "./live-line.ts";
import { textReport } from "./text-report.ts";

/** The input and the outputs of the command. */
export interface CommandIo {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: { write(text: string): unknown };
  /** Shows the progress if it is a terminal, and receives errors. */
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  /** Is aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

const MOST_TOKEN_CHARACTERS = 64 * 1024;

/**
 * Runs the command.
 *
 * @returns the exit code: 0 done, 1 a step broke (with `--fail-on-break`), 2 invalid use or nothing to load, 130 interrupted
 */
export async function run(given: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await runCommand(given, io);
  } catch (error) {
    if (io.signal.aborted) return 130;
    if (!(error instanceof LoadTestError)) throw error;
    io.stderr.write(`load-test: ${error.message}\n`);
    return 2;
  }
}

async function runCommand(given: readonly string[], io: CommandIo): Promise<number> {
  const commandLine = readCommandLine(given);
  if (commandLine === undefined) {
    io.stdout.write(helpText());
    return 0;
  }
  const { options, isJson, k6, html, failsOnBreak, tokenFile } = commandLine;
  const token = tokenFile === undefined ? options.token : await readToken(tokenFile, io.stdin);
  const settings = resolveOptions({ ...options, token }, optionName);
  const prepared = await prepare(settings, io.signal);
  if (k6 !== undefined) await writeOutput("--k6", k6, k6Script(prepared.requests, settings));
  // Check before the run whether the report can be written.
  if (html !== undefined) await writeOutput("--html", html, "");
  const live = liveLine(io.stderr);
  const observers: Pick<LoadTestOptions, "onProgress" | "onStep" | "signal"> = {
    onProgress: live.show,
    onStep: live.clear,
    signal: io.signal,
  };
  const report = await runSteps(settings, prepared, observers);
  io.stdout.write(isJson ? `${JSON.stringify(report, undefined, 2)}\n` : textReport(report));
  if (html !== undefined) await writeOutput("--html", html, htmlReport(report));
  if (report.isInterrupted) return 130;
  return failsOnBreak && report.brokeAt !== null ? 1 : 0;
}

/** Reads the first line of a file, or of the input if the file is `-`. */
async function readToken(file: string, stdin: NodeJS.ReadableStream): Promise<string> {
  const text =
    file === "-" ? await firstLine(stdin) : await readFile(file, "utf8").catch(failure("--token-file", file));
  const [token = ""] = text.split("\n");
  if (token.trim() === "") throw usage(`--token-file ${file} has an empty first line`);
  return token.trim();
}

async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  // Leaving the loop destroys the stream, so that an open input does not keep the process alive.
  for await (const piece of stdin) {
    text += String(piece);
    if (text.includes("\n") || text.length > MOST_TOKEN_CHARACTERS) break;
  }
  return text;
}

async function writeOutput(flag: string, file: string, text: string): Promise<void> {
  await writeFile(file, text).catch(failure(flag, file));
}

function failure(flag: string, file: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw usage(`${flag} ${file} cannot be used: ${error.code}`);
  };
}
