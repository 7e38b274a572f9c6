import { appendFileSync, openSync, readFileSync, writeSync } from "node:fs";
import type { WorkerEvent } from "@svc/job-table";

/**
 * What a worker notes of a job: its handler has begun, a kill would now show its fault (`exposed`), or what became of it
 * was recorded in the table.
 */
export type NoteKind = "start" | "exposed" | "done" | "failed" | "dead" | "released" | "lost";

export interface Note {
  readonly kind: NoteKind;
  readonly id: string;
  readonly attempts: number;
  /** By a clock that all processes of the machine share, in milliseconds. */
  readonly at: number;
}

/** A clock that never goes back and that all processes of the machine share, in milliseconds. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Writes notes that outlive the process, however it ends: each is with the system when the call returns. */
export interface Notes {
  write(kind: NoteKind, job: { readonly id: string; readonly attempts: number }): void;
  /** For `onEvent`. */
  tell(event: WorkerEvent): void;
}

export function openNotes(file: string): Notes {
  const to = openSync(file, "a");
  const write: Notes["write"] = (kind, { id, attempts }) =>
    void writeSync(to, `${kind} ${id} ${attempts} ${sharedNow()}\n`);
  return {
    write,
    tell(event) {
      if (event.type === "lease_lost") write("lost", event.job);
      else if (event.type !== "claimed" && "job" in event) write(event.type, event.job);
    },
  };
}

/** What a worker has noted; nothing of one that never came so far. */
export function readNotes(file: string): readonly Note[] {
  appendFileSync(file, "");
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [kind = "", id = "", attempts, at] = line.split(" ");
    return { kind: kind as NoteKind, id, attempts: Number(attempts), at: Number(at) };
  });
}

/** The time for which a worker had a job in hand; `to` is infinite when it never let go of it. */
export interface Hold {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

/** From the start of every handler to the note of its end. */
export function holdsOf(notes: readonly Note[]): readonly Hold[] {
  const open = new Map<string, number>();
  const holds: Hold[] = [];
  for (const { kind, id, at } of notes) {
    if (kind === "exposed") continue;
    const from = open.get(id);
    if (from !== undefined) holds.push({ id, from, to: at });
    if (kind === "start") open.set(id, at);
    else open.delete(id);
  }
  for (const [id, from] of open) holds.push({ id, from, to: Number.POSITIVE_INFINITY });
  return holds;
}
