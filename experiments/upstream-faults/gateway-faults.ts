import { type Fault, faults, statusOf } from "./faulty-server.ts";

/** A fault of the two targets of a route, and the results of calls through a gateway with this fault. */
export interface GatewayFault {
  readonly fault: Fault;
  /** The fault of the second target. Default: the same. */
  readonly second?: Fault;
  /** The permitted results: a status, and how the call ended or that the response is a problem of the gateway. */
  readonly results: readonly string[];
  /** Whether the targets are paused after a few calls. */
  readonly rests?: boolean;
}

const healthy: Fault = {
  name: "healthy",
  isOutage: false,
  answer: (socket) => socket.write(statusOf(200)),
};

const results: Readonly<Record<string, readonly string[]>> = {
  refuses: ["503 problem"],
  hangs: ["504 problem", "503 problem"],
  "429": ["429 complete"],
  "500": ["500 complete"],
  "503": ["503 complete"],
  garbage: ["502 problem", "503 problem"],
  drips: ["200 left"],
  dies: ["200 cut off", "503 problem"],
  "endless body": ["200 left"],
  "compressed bomb": ["200 complete"],
  "invalid header": ["502 problem", "503 problem"],
  "early hints": ["200 complete"],
  "endless hints": ["504 problem", "503 problem"],
  "redirects away": ["302 complete"],
};

/** Response headers that a gateway must not forward; all values contain `foreign`. */
const foreignHeaders = [
  "Connection: X-Hop, X-Foreign",
  "X-Hop: foreign",
  "Keep-Alive: timeout=5, foreign",
  "Proxy-Authenticate: foreign",
  "Proxy-Connection: foreign",
  "Trailer: foreign",
  "TE: foreign",
  "Upgrade: foreign",
  "X-Request-ID: foreign",
];

/** The faults that a client can encounter, and those that only a gateway can encounter. */
export const gatewayFaults: readonly GatewayFault[] = [
  ...faults.map((fault) => ({
    fault,
    results: results[fault.name] ?? [],
    // A target that fails has responded before, so that it is paused only if the calls overlap.
    rests: (results[fault.name] ?? []).includes("503 problem") && fault.name !== "dies",
  })),
  {
    fault: {
      name: "foreign headers",
      isOutage: false,
      answer: (socket) => socket.write(statusOf(200, `${foreignHeaders.join("\r\n")}\r\n`)),
    },
    results: ["200 complete"],
  },
  {
    fault: { name: "one refuses", isOutage: true, answer: undefined },
    second: healthy,
    results: ["200 complete"],
  },
];
