import type { CallBody } from "./request-body.ts";
import type { CallHeaders } from "./request-headers.ts";

/** Options of one call. */
export interface CallOptions extends CallBody {
  /** Parameters that are added to the path. Default: none. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Default: none. */
  readonly headers?: CallHeaders | undefined;
  /** Ends the call: it rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of this call, in seconds. Default: that of the client. */
  readonly totalTimeoutSeconds?: number | undefined;
  /** Default: that of the client. */
  readonly throwOn4xx?: boolean | undefined;
}

/**
 * Returns the path of a call with its parameters.
 *
 * @throws TypeError for a path that does not begin with one slash, or contains white space or a fragment
 */
export function pathOf(path: string, query: CallOptions["query"]): string {
  if (typeof path !== "string" || !/^\/(?!\/)[!-~]*$/.test(path) || path.includes("#")) {
    throw new TypeError("the path of a call must begin with one / and contain no white space and no #");
  }
  if (query === undefined) return path;
  const known = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) known.append(name, String(value));
  if (known.size === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${String(known)}`;
}
