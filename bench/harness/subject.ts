/** The work that one child process measures, created by `start()` of the case's module. */
export interface Subject {
  /** Rejects unless the case does what its name says. Called once before the measurement. */
  prove(): Promise<void>;
  /** Does the work `count` times; rejects when a result is wrong. */
  run(count: number): Promise<void>;
  /** Listens on a free port of the loopback interface, for a run over sockets. */
  listen?(): Promise<Listening>;
}

/** CPU time and wall-clock time, in microseconds. */
export interface Spent {
  readonly cpuUs: number;
  readonly wallUs: number;
}

/** The address of a listening subject, and the requests to send to it. */
export interface Listening {
  readonly port: number;
  /** Complete requests, one character for each byte, to be sent in rotation. */
  readonly requests: readonly string[];
}

/** The exports of a case's module. The setting distinguishes cases that share a module. */
export interface CaseModule {
  readonly start: (setting: string) => Promise<Subject>;
}

/** A case of a bench: a row of its output, measured in its own process. */
export interface Case {
  readonly name: string;
  readonly module: URL;
  readonly setting?: string | undefined;
}
