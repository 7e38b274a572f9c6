import { appendFileSync, openSync, readFileSync, writeSync } from "node:fs";
import type { WorkerEvent } from "@svc/job-table";

/**
 * An event of a job that a worker records: the handler has started (`start`), it has reached the point where a kill
 * shows the variant's fault (`exposed`), or the job's outcome.
 */
export type NoteKind = "start" | "exposed" | "done" | "failed" | "dead" | "released" | "lost";

export interface Note {
  readonly kind: NoteKind;
  readonly id: string;
  readonly attempts: number;
  /** When the event was noted, in milliseconds of {@link sharedNow}. */
  readonly at: number;
}

/** Returns the milliseconds of a monotonic clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** Writes notes synchronously to a file, so that they survive a kill of the process. */
export interface Notes {
  write(kind: NoteKind, job: { readonly id: string; readonly attempts: number }): void;
  /** Writes a note for an event of a worker; pass it as `onEvent`. */
  record(event: WorkerEvent): void;
}

export function openNotes(file: string): Notes {
  const to = openSync(file, "a");
  const write: Notes["write"] = (kind, { id, attempts }) =>
    void writeSync(to, `${kind} ${id} ${attempts} ${sharedNow()}\n`);
  return {
    write,
    record(event) {
      if (event.type === "lease_lost") write("lost", event.job);
      else if (event.type !== "claimed" && "job" in event) write(event.type, event.job);
    },
  };
}

/** Returns the notes of a worker; an empty array if it has written none. */
export function readNotes(file: string): readonly Note[] {
  appendFileSync(file, "");
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [kind = "", id = "", attempts, at] = line.split(" ");
    return { kind: kind as NoteKind, id, attempts: Number(attempts), at: Number(at) };
  });
}

/** The time during which a worker held a job. `to` is infinite if the worker noted no outcome. */
export interface Hold {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

/** Returns for each handler the time from its start to the note of its outcome. */
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
