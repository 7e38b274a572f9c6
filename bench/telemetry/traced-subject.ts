import type { Subject } from "../harness/subject.ts";

/** A subject that also counts its spans. */
export interface TracedSubject extends Subject {
  /** Returns the number of spans so far that reached the exporter, or the receiver of the exporter `otlp`. */
  readonly spans: () => Promise<number>;
}

/** The exports of a case's module. */
export interface TracedModule {
  readonly start: (setting: string) => Promise<TracedSubject>;
}
