import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Program } from "@svc/dev-services";
import { pin } from "../harness/pin.ts";

/** The measurements of a load generator in one run. */
export interface Reading {
  readonly requestsPerSecond: number;
  /** The 99th percentile of the latency, in milliseconds. */
  readonly p99Ms: number;
}

/** A program that sends requests on 50 connections, each as soon as the previous request on its connection is complete. */
export interface Load {
  readonly name: string;
  readonly program: Program;
  /**
   * @param file path of the program
   * @throws Error if a request failed
   */
  readonly run: (file: string, url: string, seconds: number) => Promise<Reading>;
}

export const CONNECTIONS = 50;

/** Runs a load generator on the first CPU, where no proxy runs, and resolves with its output. */
export async function outputOf(file: string, args: readonly string[]): Promise<string> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  pin(child.pid, 0);
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${output}`);
  return output;
}
