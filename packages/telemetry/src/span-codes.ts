// The values of OpenTelemetry's enums, for code that runs without a loaded API.

/** The kind of a server span. */
export const SERVER = 1;

/** The status of a span whose operation failed. */
export const ERROR = { code: 2 } as const;
