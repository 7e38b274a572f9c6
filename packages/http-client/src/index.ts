export type { CallOptions } from "./call-options.ts";
export { type CallMethod, type Client, createClient } from "./client.ts";
export { type FailureKind, UpstreamError } from "./failures.ts";
export { instrumentFetch, type InstrumentFetchOptions } from "./instrument-fetch.ts";
export type { ClientOptions } from "./options.ts";
export type { CallBody } from "./request-body.ts";
export type { CallHeaders } from "./request-headers.ts";
export type { ClientResponse, StreamedResponse } from "./response.ts";
