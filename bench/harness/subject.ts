/** What one child process measures. Made by the `start` of a case's module. */
export interface Subject {
  /** Throws unless it is what its name says: asked once before anything is timed. */
  prove(): Promise<void>;
  /** Does its work `count` times; rejects when a result is wrong. */
  run(count: number): Promise<void>;
  /** Listens on a free port of the loopback interface, for a run over sockets. */
  listen?(): Promise<Listening>;
}

/** Time that work took, in microseconds: of the processor, and of the clock. */
export interface Spent {
  readonly cpuUs: number;
  readonly wallUs: number;
}

/** Where a subject listens, and what it is to be sent there. */
export interface Listening {
  readonly port: number;
  /** Whole requests, one character a byte, to be sent in rotation. */
  readonly requests: readonly string[];
}

/** What the module of a case exports. The setting tells cases that share a module apart. */
export interface CaseModule {
  readonly start: (setting: string) => Promise<Subject>;
}

/** One row of a bench: it gets a process of its own. */
export interface Case {
  readonly name: string;
  readonly module: URL;
  readonly setting?: string | undefined;
}
